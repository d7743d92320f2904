/**
 * Measures what a call uses while it is answered: by what its upstream tells, and where it tells nothing by counting.
 *
 * What the model put out is kept for that until the end, up to a bound (`kept-text.ts`); what goes beyond it is guessed. A
 * count is never less than what was told.
 */
import { type CallUsage, nothingUsed } from "../ledger/price.ts";
import type { Operation } from "../providers/operations.ts";
import type { Meter, ToldUsage } from "../providers/provider.ts";
import { type Soon, whenThere } from "../soon.ts";
import type { Wire } from "../wire/wire.ts";
import { type Counting, guessTokens } from "./counting.ts";
import { KeptText } from "./kept-text.ts";

export interface Measured {
  readonly used: CallUsage;
  /** Whether any of it was counted here. */
  readonly estimated: boolean;
  /** Whether the model gave up with nothing put out. */
  readonly isNothing: boolean;
  /** Whether it gave up at all. */
  readonly gaveUp: boolean;
}

export const nothingMeasured: Measured = { used: nothingUsed, estimated: false, isNothing: true, gaveUp: false };

/** Measures one request to an upstream. */
export interface AttemptMeter extends Meter {
  /** Whether anything of the answer itself has come. */
  hasContent(): boolean;
  /** Forgets the attempt: it failed, and another is made in its place. */
  drop(): void;
}

export interface CallMeter {
  /** Begins to measure one request to an upstream. */
  attempt(operation: Operation, request: Wire): AttemptMeter;
  /** Whether the end of the answer has been seen. */
  isOver(): boolean;
  /** Returns what was used so far; `complete` says that what was told of the output is all of it. */
  measure(complete: boolean): Soon<Measured>;
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

  measure(complete: boolean): Soon<Measured> {
    const all = this.#counted();
    const only = all[0];
    if (only && all.length === 1) return measure(only, complete, this.#counting);
    const measuring = Promise.all(all.map((attempted) => measure(attempted, complete, this.#counting)));
    return measuring.then((measured) => measured.reduce(sum, nothingMeasured));
  }

  #counted(): readonly Attempted[] {
    return this.#attempts.every(isCounted) ? this.#attempts : this.#attempts.filter(isCounted);
  }
}

const isCounted = ({ isDropped }: Attempted) => !isDropped;

/** What was told last of each part, at first nothing. */
interface Told {
  input: number | undefined;
  cacheRead: number;
  cacheWrite: number;
  cacheWriteHour: number;
  output: number | undefined;
  reasoning: number;
}

class Attempted implements AttemptMeter {
  readonly operation: Operation;
  readonly request: Wire;
  readonly usage: Told = {
    input: undefined,
    cacheRead: 0,
    cacheWrite: 0,
    cacheWriteHour: 0,
    output: undefined,
    reasoning: 0,
  };
  readonly output = new KeptText();
  hasGivenUp = false;
  hasEnded = false;
  isDropped = false;

  constructor(operation: Operation, request: Wire) {
    this.operation = operation;
    this.request = request;
  }

  told({ input, cacheRead, cacheWrite, cacheWriteHour, output, reasoning }: ToldUsage): void {
    const { usage } = this;
    usage.input = input ?? usage.input;
    usage.cacheRead = cacheRead ?? usage.cacheRead;
    usage.cacheWrite = cacheWrite ?? usage.cacheWrite;
    usage.cacheWriteHour = cacheWriteHour ?? usage.cacheWriteHour;
    usage.output = output ?? usage.output;
    usage.reasoning = reasoning ?? usage.reasoning;
  }

  wrote(text: string): void {
    this.output.add(text);
  }

  gaveUp(): void {
    this.hasGivenUp = true;
  }

  ended(): void {
    this.hasEnded = true;
  }

  /** Of speech nothing is counted, and its first bytes are content. */
  hasContent(): boolean {
    return isUncounted(this.operation) || !this.output.isEmpty() || this.hasEnded || this.hasGivenUp;
  }

  drop(): void {
    this.isDropped = true;
  }
}

function measure(attempted: Attempted, complete: boolean, counting: Counting): Soon<Measured> {
  const { operation, request, usage, output: kept, hasGivenUp } = attempted;
  // Of vectors nobody pays for an output.
  const toldOutput = operation === "embeddings" ? 0 : usage.output;
  // Some upstreams tell of nothing where there was something.
  const isCounted = toldOutput === 0 && !kept.isEmpty();
  const isTold = usage.input !== undefined && toldOutput !== undefined && complete && !isCounted;
  return whenThere(isTold || isUncounted(operation) ? 0 : countOutput(kept, counting), (counted) =>
    whenThere(usage.input ?? (isUncounted(operation) ? 0 : counting.input(operation, request)), (input) => {
      const { cacheRead, cacheWrite, cacheWriteHour, reasoning } = usage;
      const output = Math.max(toldOutput ?? 0, counted);
      const isNothing = hasGivenUp && output === 0 && kept.isEmpty();
      const estimated = (usage.input === undefined || output !== toldOutput) && !isUncounted(operation);
      const used = { input, cacheRead, cacheWrite, cacheWriteHour, output, reasoning, characters: 0 };
      return { used, estimated, isNothing, gaveUp: hasGivenUp };
    }),
  );
}

/** Speech is paid by the characters of its input, which are known. */
function isUncounted(operation: Operation): boolean {
  return operation === "speech";
}

async function countOutput(kept: KeptText, counting: Counting): Promise<number> {
  return kept.isEmpty() ? 0 : (await counting.output(kept.text())) + guessTokens(kept.beyondBytes);
}

function sum(a: Measured, b: Measured): Measured {
  const used: Record<string, number> = {};
  for (const [part, count] of Object.entries(a.used)) used[part] = count + b.used[part as keyof CallUsage];
  return {
    used: used as unknown as CallUsage,
    estimated: a.estimated || b.estimated,
    isNothing: a.isNothing && b.isNothing,
    gaveUp: a.gaveUp || b.gaveUp,
  };
}
