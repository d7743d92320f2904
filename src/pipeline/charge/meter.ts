/**
 * Measures what a call uses while it is answered: by what its upstream tells, and where it tells nothing by counting.
 *
 * What the model put out is kept for that until the end, up to a bound (`kept-text.ts`); what goes beyond it is guessed. A
 * count is never less than what was told.
 */

import type { Operation } from "../../call/operations.ts";
import { type CallUsage, nothingUsed } from "../../call/usage.ts";
import type { Served } from "../../ledger/rates.ts";
import { andThen, type MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Wire } from "../../wire/wire.ts";
import { type Counting, guessTokens } from "./count-used.ts";
import type { KeptText } from "./kept-text.ts";
import { Attempted, type AttemptMeter, isUncounted } from "./metered-attempt.ts";

export type { AttemptMeter };

/** What one request to an upstream used, and how it was asked to be served, and was. */
export interface MeasuredRequest extends Omit<Served, "isRegional"> {
  readonly used: CallUsage;
}

export interface Measured {
  readonly used: CallUsage;
  /** The same by requests to upstreams. */
  readonly requests: readonly MeasuredRequest[];
  /** Whether any of it was counted here. */
  readonly estimated: boolean;
  /** Whether the model gave up with nothing put out. */
  readonly isNothing: boolean;
  /** Whether it gave up at all. */
  readonly gaveUp: boolean;
}

export const nothingMeasured: Measured = {
  used: nothingUsed,
  requests: [],
  estimated: false,
  isNothing: true,
  gaveUp: false,
};

export interface CallMeter {
  /** Begins to measure one request to an upstream. */
  attempt(operation: Operation, request: Wire): AttemptMeter;
  /** Whether the end of the answer has been seen. */
  isOver(): boolean;
  /** Whether anything has come of an answer that counts. */
  hasContent(): boolean;
  /** Returns what was used so far; `complete` says that what was told of the output is all of it. */
  measure(complete: boolean): MaybePromise<Measured>;
  /** Returns what a call used that its caller left: by each attempt of which content has come, with the reasoning in it. */
  measureLeft(): MaybePromise<Measured>;
}

/** `parts` is of how many requests the call consists. */
export function createMeter(parts: number, counting: Counting): CallMeter {
  return new Attempts(parts, counting);
}

class Attempts implements CallMeter {
  readonly #parts: number;
  readonly #counting: Counting;
  /** Made anew with each: a list that grows in place keeps room for sixteen more, in each of thousands of streams. */
  #attempts: readonly Attempted[] = [];

  constructor(parts: number, counting: Counting) {
    this.#parts = parts;
    this.#counting = counting;
  }

  attempt(operation: Operation, request: Wire): AttemptMeter {
    const attempted = new Attempted(operation, request);
    this.#attempts = this.#attempts.length === 0 ? [attempted] : [...this.#counted(), attempted];
    return attempted;
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

  hasContent(): boolean {
    return this.#attempts.some(hasCome);
  }

  measure(complete: boolean): MaybePromise<Measured> {
    return this.#measureAll(this.#counted(), { complete, isLeft: false });
  }

  measureLeft(): MaybePromise<Measured> {
    return this.#measureAll(this.#attempts.filter(hasCome), { complete: false, isLeft: true });
  }

  #measureAll(all: readonly Attempted[], how: How): MaybePromise<Measured> {
    const only = all[0];
    if (only && all.length === 1) return measure(only, how, this.#counting);
    const measuring = Promise.all(all.map((attempted) => measure(attempted, how, this.#counting)));
    return measuring.then((measured) => measured.reduce(sum, nothingMeasured));
  }

  #counted(): readonly Attempted[] {
    return this.#attempts.every(isCounted) ? this.#attempts : this.#attempts.filter(isCounted);
  }
}

const isCounted = ({ isDropped }: Attempted) => !isDropped;
const hasCome = (attempted: Attempted) => !attempted.isDropped && attempted.hasCome && attempted.hasContent();

/** How what was used is measured. */
interface How {
  /** Whether what was told of the output is all of it, also where the end of the answer has not been seen. */
  readonly complete: boolean;
  readonly isLeft: boolean;
}

function measure(attempted: Attempted, { complete, isLeft }: How, counting: Counting): MaybePromise<Measured> {
  const { operation, request, usage, output: kept, hasGivenUp, hasEnded, isCut } = attempted;
  // Of vectors nobody pays for an output.
  const toldOutput = operation === "embeddings" ? 0 : usage.output;
  // Some upstreams tell of nothing where there was something.
  const isCounted = toldOutput === 0 && !kept.isEmpty();
  const isTold = usage.input !== undefined && toldOutput !== undefined && (complete || hasEnded) && !isCounted;
  return andThen(isTold || isUncounted(operation) ? 0 : countOutput(kept, counting), (counted) =>
    andThen(usage.input ?? (isUncounted(operation) ? 0 : counting.input(operation, request)), (input) => {
      const { cacheRead, cacheWrite, cacheWriteHour, reasoning } = usage;
      const thought = isLeft && !attempted.isOutputTold ? thoughtOf(attempted, counted) : 0;
      const output = Math.max(toldOutput ?? 0, counted + thought);
      const isNothing = hasGivenUp && output === 0 && kept.isEmpty();
      const estimated = isCut || ((usage.input === undefined || output !== toldOutput) && !isUncounted(operation));
      const parts = { input, cacheRead, cacheWrite, cacheWriteHour, output };
      const used = { ...parts, reasoning: Math.max(reasoning, thought), characters: 0, ...rareOf(attempted) };
      const requests = [{ used, asked: attempted.asked, told: attempted.manner }];
      return { used, requests, estimated, isNothing, gaveUp: hasGivenUp };
    }),
  );
}

/** Who was asked to search, and does not tell how often, has done so once. */
function rareOf({ rare, asked }: Attempted): Attempted["rare"] {
  const { certainSearches } = asked;
  return certainSearches > 0 && rare?.searches === undefined ? { ...rare, searches: certainSearches } : rare;
}

/** Returns the reasoning that is estimated beside so much output. */
function thoughtOf({ thought, mostOutput }: Attempted, counted: number): number {
  return Math.max(0, Math.min(thought, mostOutput - counted));
}

async function countOutput(kept: KeptText, counting: Counting): Promise<number> {
  return kept.isEmpty() ? 0 : (await counting.output(kept.text())) + guessTokens(kept.beyondBytes);
}

function sum(a: Measured, b: Measured): Measured {
  const used = new Map<string, number>();
  for (const [part, count = 0] of [...Object.entries(a.used), ...Object.entries(b.used)]) {
    used.set(part, (used.get(part) ?? 0) + count);
  }
  return {
    used: Object.fromEntries(used) as unknown as CallUsage,
    requests: [...a.requests, ...b.requests],
    estimated: a.estimated || b.estimated,
    isNothing: a.isNothing && b.isNothing,
    gaveUp: a.gaveUp || b.gaveUp,
  };
}
