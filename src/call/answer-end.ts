/** Tells when an answer has ended. */
import type { Signal } from "../runtime/caller-abort.ts";
import { onEnd } from "../runtime/push-stream.ts";
import type { Answer } from "./call.ts";

/**
 * atEnd returns an answer that calls `ended` when it has ended: at once where it is unary. `ended` may be called again, when the caller
 * leaves: frames that nobody began to read have no end of their own.
 */
export function atEnd(answer: Answer, signal: Signal, ended: () => void): Answer {
  if (answer.kind === "whole") {
    ended();
    return answer;
  }
  signal.addEventListener("abort", ended, { once: true });
  if (signal.aborted) ended();
  return { ...answer, frames: onEnd(answer.frames, ended) };
}
