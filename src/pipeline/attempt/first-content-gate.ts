/**
 * Holds a stream's head back until its first content, so that an upstream that fails before it can still be replaced by
 * another: nothing has been told to the caller then. Not for ever: who hears nothing for long takes the line for dead, and
 * what says nothing at length fills the memory.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Answer } from "../../call/call.ts";
import { forEach, pushStream, type Take } from "../../runtime/push-stream.ts";
import type { Wire } from "../../wire/wire.ts";

/** For how long, at most, in milliseconds. */
const longestMs = 10_000;
/** How much of it, at most, in bytes. */
const mostBytes = 1024 * 1024;

type Batch<O extends DescMessage> = readonly Wire<O>[];

/** Resolves when content has come, the stream has ended, or it took too long or too much. Throws what the stream throws before that. */
export async function firstContentGate<O extends DescMessage>(
  answer: Answer<O>,
  hasContent: () => boolean,
): Promise<Answer<O>> {
  if (answer.kind === "whole") return answer;
  const head: Batch<O>[] = [];
  let bytes = 0;
  let holds = true;
  let taker: Take<Batch<O>> | undefined;
  const { promise: held, resolve: letGo, reject: fail } = Promise.withResolvers<void>();
  const { promise: told, resolve: goOn, reject: leave } = Promise.withResolvers<void>();
  const reading = forEach(answer.frames, (batch) => {
    if (taker) return taker(batch);
    head.push(batch);
    for (const frame of batch) bytes += frame.bytes().length;
    if (holds && !hasContent() && bytes <= mostBytes) return undefined;
    letGo();
    return told;
  });
  reading.then(letGo, fail);
  // Where nobody reads on, nobody is there to be told what it ends with.
  told.catch(() => {});
  const timer = setTimeout(letGo, longestMs);
  try {
    await held;
  } finally {
    clearTimeout(timer);
  }
  holds = false;
  // The source waits in `told` until the head has been told; then each batch goes straight on.
  const tell = async (take: Take<Batch<O>>) => {
    try {
      for (const batch of head) await take(batch);
      taker = take;
      goOn();
    } catch (error) {
      taker = () => {
        throw error;
      };
      leave(error);
    }
    head.length = 0;
  };
  return { ...answer, frames: pushStream<Batch<O>>((take) => tell(take).then(() => reading)) };
}
