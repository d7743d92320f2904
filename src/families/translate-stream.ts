/** Translates a stream batch by batch, as it comes. What came before a failure is the caller's. */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Frames } from "../call/call.ts";
import { failAfter, forEach, pushStream } from "../runtime/push-stream.ts";
import type { Wire } from "../wire/wire.ts";

/** `translate` says what a message becomes, and `end` what comes last. Both may throw. */
export function translated<I extends DescMessage, O extends DescMessage>(
  frames: Frames<I>,
  translate: (frame: Wire<I>) => readonly Wire<O>[],
  end: () => readonly Wire<O>[],
): Frames<O> {
  return pushStream((take) => {
    const told = forEach(frames, (batch) => {
      const made: Wire<O>[] = [];
      let failure: { readonly error: unknown } | undefined;
      try {
        for (const frame of batch) made.push(...translate(frame));
      } catch (error) {
        failure = { error };
      }
      const taken = made.length > 0 ? take(made) : undefined;
      return failure ? failAfter(taken, failure.error) : taken;
    });
    return told.then(() => {
      const last = end();
      return last.length > 0 ? take(last) : undefined;
    });
  });
}
