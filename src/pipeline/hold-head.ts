/**
 * Holds a stream's head back until its first content, so that an upstream that fails before it can still be replaced by
 * another: nothing has been told to the caller then. Not for ever: who hears nothing for long takes the line for dead, and
 * what says nothing at length fills the memory.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Answer, Frames } from "../call.ts";
import type { Wire } from "../wire/wire.ts";

/** For how long, at most, in milliseconds. */
const longestMs = 10_000;
/** How much of it, at most, in bytes. */
const mostBytes = 1024 * 1024;

type Batch<O extends DescMessage> = readonly Wire<O>[];

/** Resolves when content has come, the stream has ended, or it took too long or too much. Throws what the stream throws before that. */
export async function holdHead<O extends DescMessage>(
  answer: Answer<O>,
  hasContent: () => boolean,
): Promise<Answer<O>> {
  if (answer.kind === "whole") return answer;
  const frames = answer.frames[Symbol.asyncIterator]();
  const head: Batch<O>[] = [];
  let bytes = 0;
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(resolve, longestMs, undefined);
  try {
    for (;;) {
      const next = frames.next();
      const step = await Promise.race([next, late]);
      if (!step) return { ...answer, frames: resumed(head, frames, next) };
      if (!step.done) head.push(step.value);
      if (step.done || hasContent()) return { ...answer, frames: resumed(head, frames) };
      for (const frame of step.value) bytes += frame.bytes().length;
      if (bytes > mostBytes) return { ...answer, frames: resumed(head, frames) };
    }
  } finally {
    clearTimeout(timer);
  }
}

async function* resumed<O extends DescMessage>(
  head: readonly Batch<O>[],
  frames: AsyncIterator<Batch<O>>,
  pending?: Promise<IteratorResult<Batch<O>>>,
): Frames<O> {
  // Where nobody reads on, nobody is there to be told what it ends with.
  pending?.catch(() => {});
  try {
    yield* head;
    for (let step = await (pending ?? frames.next()); !step.done; step = await frames.next()) yield step.value;
  } finally {
    await frames.return?.();
  }
}
