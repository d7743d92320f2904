/**
 * Holds the head of a stream back until its first content. An upstream that fails before that can still be replaced, because
 * nothing was sent to the caller. The gate is bounded in time, because clients give up on silent connections, and in bytes.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Answer } from "../../call/call.ts";
import { forEach, pushStream, type Take } from "../../runtime/push-stream.ts";
import type { Wire } from "../../wire/wire.ts";

/** The most that is held back, in milliseconds and in bytes. */
const maxMs = 10_000;
const maxBytes = 1024 * 1024;

type Batch<O extends DescMessage> = readonly Wire<O>[];

/**
 * firstContentGate resolves when content has arrived, the stream has ended, or a bound is reached. Rejects with what the stream throws
 * before.
 */
export async function firstContentGate<O extends DescMessage>(
  answer: Answer<O>,
  hasContent: () => boolean,
): Promise<Answer<O>> {
  if (answer.kind === "whole") return answer;
  const head: Batch<O>[] = [];
  let bytes = 0;
  let isClosed = true;
  let reader: Take<Batch<O>> | undefined;
  const { promise: opened, resolve: open, reject: fail } = Promise.withResolvers<void>();
  const { promise: headRead, resolve: resume, reject: stop } = Promise.withResolvers<void>();
  const reading = forEach(answer.frames, (batch) => {
    if (reader) return reader(batch);
    head.push(batch);
    for (const frame of batch) bytes += frame.bytes().length;
    if (isClosed && !hasContent() && bytes <= maxBytes) return undefined;
    open();
    return headRead;
  });
  reading.then(open, fail);
  // If the frames are never read, nothing handles the rejection.
  headRead.catch(() => {});
  const timer = setTimeout(open, maxMs);
  try {
    await opened;
  } finally {
    clearTimeout(timer);
  }
  isClosed = false;
  // The source waits for `headRead`. After that each batch goes straight to the reader.
  const readHead = async (take: Take<Batch<O>>) => {
    try {
      for (const batch of head) await take(batch);
      reader = take;
      resume();
    } catch (error) {
      reader = () => {
        throw error;
      };
      stop(error);
    }
    head.length = 0;
  };
  return { ...answer, frames: pushStream<Batch<O>>((take) => readHead(take).then(() => reading)) };
}
