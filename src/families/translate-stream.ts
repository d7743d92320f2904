/** Translates a stream batch by batch. Chunks before a failure still reach the caller. */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Frames } from "../call/call.ts";
import { failAfter, forEach, pushStream } from "../runtime/push-stream.ts";
import type { Wire } from "../wire/wire.ts";

/** translateStream returns the translated stream. `translate` returns what a frame becomes, and `end` what comes last. Both may throw. */
export function translateStream<I extends DescMessage, O extends DescMessage>(
  frames: Frames<I>,
  translate: (frame: Wire<I>) => readonly Wire<O>[],
  end: () => readonly Wire<O>[] = () => [],
): Frames<O> {
  return pushStream((take) => {
    const done = forEach(frames, (batch) => {
      const output: Wire<O>[] = [];
      let failure: { readonly error: unknown } | undefined;
      try {
        for (const frame of batch) output.push(...translate(frame));
      } catch (error) {
        failure = { error };
      }
      const taken = output.length > 0 ? take(output) : undefined;
      return failure ? failAfter(taken, failure.error) : taken;
    });
    return done.then(() => {
      const last = end();
      return last.length > 0 ? take(last) : undefined;
    });
  });
}
