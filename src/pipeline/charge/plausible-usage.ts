/**
 * Tells reported usage that cannot be true from usage that may be. The charge is then the gateway's own count.
 *
 * The bounds are wide, so that no honest upstream is doubted: a vendor adds instructions of its own to the input, its tools fetch more,
 * some servers ignore the bound of the output, and reasoning may lie beyond that bound. No call is charged more than its hold
 * anyway; what these bounds find is counts that are wrong, as 9e15, and not counts that are dear.
 */
import { continuesThread } from "../../call/request/stored-thread.ts";
import { answersAskedFor, inputBound, outputBound, promptsOf, usesVendorTools } from "../../ledger/worst-case.ts";
import { attachedTo } from "../../tokens/media/attachments.ts";
import { isObject } from "../../wire/json.ts";
import type { Wire } from "../../wire/wire.ts";
import type { MeteredAttempt } from "./metered-attempt.ts";

/**
 * The most tokens that an upstream adds of its own: instructions, knowledge, an agent's memory. Less input than this is never doubted;
 * what it costs beyond the hold is waived, which is reported, too.
 */
const ownInstructions = 131_072;
/** vendorRounds is how often a vendor that uses its own tools reads the input, and writes, at most. */
const vendorRounds = 20;
/** The marks that end an answer, or surround a tool call, for which vendors have tokens beyond the bound. */
const marksPerAnswer = 64;
/** More output than any model has, for requests without a bound, and for reasoning and output that is no text. */
const anyOutput = 10_000_000;
/** More searches, or sources, than any request has of its own. */
const anySearches = 1_000;

/** isInputImplausible reports whether the reported input is more than the request has bytes for. */
export function isInputImplausible({ operation, request, usage }: MeteredAttempt): boolean {
  const { input = 0, cacheRead, cacheWrite, cacheWriteHour } = usage;
  const reported = input + cacheRead + cacheWrite + cacheWriteHour;
  if (reported <= ownInstructions) return false;
  const json = request.outline();
  const bound = inputBound(request, undefined, promptsOf(operation, json)) + ownInstructions;
  if (reported <= bound) return false;
  return reported > anyInput(request, bound);
}

/** anyInput returns the most input of a request that has tools at its vendor, or refers to what the gateway cannot see, or has neither. */
function anyInput(request: Wire, bound: number): number {
  const json = request.outline();
  const { previous_response_id, conversation, prompt } = json;
  const isKeptThere =
    (previous_response_id ?? conversation ?? null) !== null || isObject(prompt) || continuesThread(json);
  if (usesVendorTools(json)) return bound * vendorRounds;
  return isKeptThere || attachedTo(request).isUnseen ? Math.max(bound, anyOutput) : bound;
}

/**
 * isOutputImplausible reports whether the reported output is more than the request allows and the text has bytes for: reasoning apart,
 * which is in no text and which some vendors do not bound.
 */
export function isOutputImplausible(attempt: MeteredAttempt): boolean {
  const { operation, usage, output: text, hasOther } = attempt;
  const { output = 0, reasoning } = usage;
  if (operation === "embeddings" || output <= marksPerAnswer) return false;
  if (output > anyOutput) return true;
  if (hasOther || output - reasoning <= text.byteLength + marksPerAnswer) return false;
  return output - reasoning > mostOutput(attempt);
}

/** mostOutput returns the most output that the request allows, of all its answers together; infinite where it sets no bound. */
function mostOutput({ operation, request }: MeteredAttempt): number {
  const json = request.outline();
  const bound = outputBound(operation, json);
  if (bound === undefined) return Number.POSITIVE_INFINITY;
  // A thread that goes on has the tools with which it began.
  const rounds = usesVendorTools(json) || continuesThread(json) ? vendorRounds : 1;
  return (bound + marksPerAnswer) * answersAskedFor(operation, json) * rounds;
}

/** areSearchesImplausible reports whether so many searches were reported that the request cannot have led to them. */
export function areSearchesImplausible(searches: number | undefined, asked: number): boolean {
  return searches !== undefined && searches > anySearches + asked;
}
