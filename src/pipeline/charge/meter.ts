/**
 * Measures what a call uses: by the usage that its upstream reports, and by counting where it reports none.
 *
 * The model's output is kept for that until the end, up to a bound (`kept-text.ts`); output beyond it is estimated. A count is
 * never below what was reported.
 */

import type { Operation } from "../../call/operations.ts";
import { addUsage, type CallUsage, nothingUsed } from "../../call/usage.ts";
import type { Served } from "../../ledger/rates.ts";
import { andThen, type MaybePromise } from "../../runtime/maybe-promise.ts";
import { sequence } from "../../runtime/sequence.ts";
import type { Wire } from "../../wire/wire.ts";
import { type Counting, guessTokens } from "./count-used.ts";
import type { KeptText } from "./kept-text.ts";
import { type AttemptMeter, isUncounted, MeteredAttempt } from "./metered-attempt.ts";
import { areSearchesImplausible, isInputImplausible, isOutputImplausible } from "./plausible-usage.ts";

export type { AttemptMeter };

/** MeasuredRequest is what one request to an upstream used, the service tier it asked for, and the one it got. */
export interface MeasuredRequest extends Omit<Served, "isRegional"> {
  readonly used: CallUsage;
}

export interface Measured {
  readonly used: CallUsage;
  /** The same, by request to an upstream. */
  readonly requests: readonly MeasuredRequest[];
  /** estimated is whether any of it was counted by the gateway. */
  readonly estimated: boolean;
  /** isImplausible is whether an upstream reported usage that cannot be true: then the gateway's own count stands in its place. */
  readonly isImplausible: boolean;
  /** isNothing is whether the model stopped by an error or a filter, without any output or reported input. */
  readonly isNothing: boolean;
  /** gaveUp is whether it stopped by an error or a filter. */
  readonly gaveUp: boolean;
}

export const nothingMeasured: Measured = {
  used: nothingUsed,
  requests: [],
  estimated: false,
  isImplausible: false,
  isNothing: true,
  gaveUp: false,
};

export interface CallMeter {
  /** Returns the meter of one request to an upstream. */
  attempt(operation: Operation, request: Wire): AttemptMeter;
  /** Reports whether the end of the answer has been seen. */
  isOver(): boolean;
  /** Reports whether an upstream has told no usage that callers can read, of an attempt that is not dropped. */
  isUntold(): boolean;
  /** Reports whether content has arrived of an attempt that is not dropped. */
  hasContent(): boolean;
  /** Reports whether an upstream bills an attempt of a call that failed. */
  hasBilled(): boolean;
  /** Returns what a call used that failed: that of such attempts. */
  measureBilled(): MaybePromise<Measured>;
  /** Returns what one of its attempts used that is complete, as it is charged: nothing where that is charged to nobody. */
  measureAttempt(attempt: AttemptMeter): MaybePromise<CallUsage>;
  /** Returns what was used so far. `complete` says that the reported output is all of it. */
  measure(complete: boolean): MaybePromise<Measured>;
  /** Returns what a call used whose caller disconnected: that of attempts with content, with estimated reasoning. */
  measureLeft(): MaybePromise<Measured>;
}

/** createMeter creates the meter of a call. `parts` is the number of requests that the call consists of. */
export function createMeter(parts: number, counting: Counting): CallMeter {
  return new Attempts(parts, counting);
}

class Attempts implements CallMeter {
  readonly #parts: number;
  readonly #counting: Counting;
  /** Copied on each change: an array that grows in place reserves room for sixteen more, in each of thousands of streams. */
  #attempts: readonly MeteredAttempt[] = [];

  constructor(parts: number, counting: Counting) {
    this.#parts = parts;
    this.#counting = counting;
  }

  attempt(operation: Operation, request: Wire): AttemptMeter {
    const attempt = new MeteredAttempt(operation, request);
    this.#attempts = this.#attempts.length === 0 ? [attempt] : [...this.#counted(), attempt];
    return attempt;
  }

  isOver(): boolean {
    let over = 0;
    for (const { hasEnded, isDropped } of this.#attempts) {
      if (isDropped) continue;
      if (!hasEnded) return false;
      over++;
    }
    return over === this.#parts;
  }

  isUntold(): boolean {
    return this.#attempts.some((attempt) => isCounted(attempt) && attempt.isUntold());
  }

  hasContent(): boolean {
    return this.#attempts.some(hasCome);
  }

  hasBilled(): boolean {
    return this.#attempts.some(isBilled);
  }

  measureBilled(): MaybePromise<Measured> {
    return this.#measureAll(this.#attempts.filter(isBilled), { complete: true });
  }

  measureAttempt(attempt: AttemptMeter): MaybePromise<CallUsage> {
    const measured = measure(attempt as MeteredAttempt, { complete: true }, this.#counting);
    return andThen(measured, ({ used, isNothing }) => (isNothing ? nothingUsed : used));
  }

  measure(complete: boolean): MaybePromise<Measured> {
    return this.#measureAll(this.#counted(), { complete });
  }

  measureLeft(): MaybePromise<Measured> {
    return this.#measureAll(this.#attempts.filter(hasCome), { complete: false });
  }

  #measureAll(all: readonly MeteredAttempt[], how: How): MaybePromise<Measured> {
    const only = all[0];
    if (only && all.length === 1) return measure(only, how, this.#counting);
    const measuring = Promise.all(all.map((attempt) => measure(attempt, how, this.#counting)));
    return measuring.then((measured) => measured.reduce(sum, nothingMeasured));
  }

  #counted(): readonly MeteredAttempt[] {
    return this.#attempts.every(isCounted) ? this.#attempts : this.#attempts.filter(isCounted);
  }
}

const isCounted = ({ isDropped }: MeteredAttempt) => !isDropped;
const isBilled = (attempt: MeteredAttempt) => !attempt.isDropped && attempt.isBilled;
const hasCome = (attempt: MeteredAttempt) => !attempt.isDropped && attempt.hasCome && attempt.hasContent();

interface How {
  /** complete is whether the reported output is all of it, also where the end of the answer has not been seen. */
  readonly complete: boolean;
}

/** The measuring of one attempt, as its steps work it out. */
interface Measuring {
  readonly attempt: MeteredAttempt;
  readonly how: How;
  readonly counting: Counting;
  /** isInputDoubted is whether the reported input or output cannot be true: then it is counted. */
  readonly isInputDoubted: boolean;
  readonly isOutputDoubted: boolean;
  readonly areSearchesDoubted: boolean;
  countedOutput: number;
}

const measureSteps = sequence([countOutput, countInput, measuredOf]);

function measure(attempt: MeteredAttempt, how: How, counting: Counting): MaybePromise<Measured> {
  const isInputDoubted = isInputImplausible(attempt);
  const isOutputDoubted = isOutputImplausible(attempt);
  const areSearchesDoubted = areSearchesImplausible(attempt.rare?.searches, attempt.asked.searches);
  const doubts = { isInputDoubted, isOutputDoubted, areSearchesDoubted };
  return measureSteps({ attempt, how, counting, ...doubts, countedOutput: 0 });
}

/** countOutput counts the output, unless the upstream reported all of it. */
function countOutput({ attempt, how, counting, isOutputDoubted }: Measuring): MaybePromise<number> {
  const { operation, usage, output, hasEnded } = attempt;
  if (isUncounted(operation)) return 0;
  const reported = reportedOutput(attempt);
  // Some upstreams report 0 output tokens although there was output.
  const isMissing = reported === 0 && !output.isEmpty();
  const isComplete = usage.input !== undefined && reported !== undefined && (how.complete || hasEnded);
  return isComplete && !isMissing && !isOutputDoubted ? 0 : countText(output, counting);
}

function countInput(measuring: Measuring, countedOutput: number): MaybePromise<number> {
  measuring.countedOutput = countedOutput;
  const { attempt, counting, isInputDoubted } = measuring;
  const { operation, request, usage } = attempt;
  if (usage.input !== undefined && !isInputDoubted) return usage.input;
  if (isUncounted(operation)) return 0;
  attempt.countedInput ??= counting.input(operation, request);
  return attempt.countedInput;
}

function measuredOf(measuring: Measuring, input: number): Measured {
  const { attempt, how, countedOutput, isInputDoubted, isOutputDoubted, areSearchesDoubted } = measuring;
  const { operation, usage, output: text, hasGivenUp, isBroken, asked, manner } = attempt;
  const isOutputReported = attempt.isOutputReported && !isOutputDoubted;
  const { cacheRead, cacheWrite, cacheWriteHour } = isInputDoubted ? nothingUsed : usage;
  const reported = isOutputDoubted ? undefined : reportedOutput(attempt);
  // A report that came before the output says nothing of its reasoning, unless the answer is complete.
  const isReported = isOutputReported || (how.complete && reported !== undefined);
  const hidden = isReported ? 0 : reasoningOf(attempt, countedOutput);
  const output = Math.max(reported ?? attempt.leastOutput, countedOutput + hidden);
  const reasoning = isOutputDoubted ? hidden : Math.max(usage.reasoning, hidden);
  const isCounted = isInputDoubted || usage.input === undefined || output !== reported;
  const parts = { input, cacheRead, cacheWrite, cacheWriteHour, output, reasoning };
  const used = { ...parts, characters: 0, ...rareOf(measuring) };
  return {
    used,
    requests: [{ used, asked, told: manner }],
    estimated: isBroken || areSearchesDoubted || (isCounted && !isUncounted(operation)),
    isImplausible: isBroken || isInputDoubted || isOutputDoubted || areSearchesDoubted,
    isNothing: hasGivenUp && output === 0 && text.isEmpty() && usage.input === undefined,
    gaveUp: hasGivenUp,
  };
}

/** reportedOutput returns the output that the upstream reported. Embeddings have none that is charged. */
function reportedOutput({ operation, usage }: MeteredAttempt): number | undefined {
  return operation === "embeddings" ? 0 : usage.output;
}

/**
 * rareOf returns the parts that few upstreams report. One web search counts where the upstream was asked to search and did not report how
 * often it did, and as many as were asked for where it reported more than can be.
 */
function rareOf(measuring: Measuring): MeteredAttempt["rare"] {
  const { attempt, isInputDoubted, isOutputDoubted, areSearchesDoubted } = measuring;
  const { rare, asked } = attempt;
  const searches = areSearchesDoubted ? asked.searches : (rare?.searches ?? asked.certainSearches);
  if (rare === undefined) return searches > 0 ? { searches } : undefined;
  const { inputAudio, inputImage, outputAudio, ...others } = rare;
  const kinds = { ...(isInputDoubted ? {} : { inputAudio, inputImage }), ...(isOutputDoubted ? {} : { outputAudio }) };
  const known = Object.entries(kinds).filter(([, count]) => count !== undefined);
  return { ...others, ...Object.fromEntries(known), ...(searches > 0 ? { searches } : {}) };
}

/** reasoningOf returns the estimated reasoning tokens, within the most output that the attempt may have. */
function reasoningOf({ estimatedReasoning, maxOutput }: MeteredAttempt, counted: number): number {
  return Math.max(0, Math.min(estimatedReasoning, maxOutput - counted));
}

async function countText(kept: KeptText, counting: Counting): Promise<number> {
  return kept.isEmpty() ? 0 : (await counting.output(kept.text())) + guessTokens(kept.beyondBytes);
}

/** sum adds what two requests used. One that brought nothing adds nothing to one that did: it is charged to nobody. */
function sum(a: Measured, b: Measured): Measured {
  const isImplausible = a.isImplausible || b.isImplausible;
  const gaveUp = a.gaveUp || b.gaveUp;
  if (a.isNothing !== b.isNothing) return { ...(a.isNothing ? b : a), isImplausible, gaveUp };
  return {
    used: addUsage(a.used, b.used),
    requests: [...a.requests, ...b.requests],
    estimated: a.estimated || b.estimated,
    isImplausible,
    isNothing: a.isNothing,
    gaveUp,
  };
}
