/** The limits on the structure of a caller's JSON, beside the limit on its bytes. */
import { WireFault } from "./fault.ts";

/** The deepest nesting of lists and objects that is accepted. */
export const maxDepth = 100;
/** The deepest nesting that is scanned. Readers refuse whatever is deeper than `maxDepth` and name its path. */
export const maxScanDepth = 500;
/** The most lists, objects and members in a text. Each costs its readers far more than its bytes. */
export const maxParts = 100_000;
/**
 * The most items of all lists in a text: somewhat more than the 1,000,000 tokens that one list of a request may hold.
 */
export const maxItems = 2 ** 20;
/** The longest member name, in bytes. */
export const maxNameBytes = 65_536;
/** The longest number, in bytes. A double needs some 17 digits. */
export const maxWordBytes = 4096;

/** PartCounter counts the parts of a text. It throws a WireFault at the bound. */
export class PartCounter {
  #parts = 0;
  #items = 0;
  readonly #mostParts: number;
  readonly #mostItems: number;

  constructor(mostParts = maxParts, mostItems = maxItems) {
    this.#mostParts = mostParts;
    this.#mostItems = mostItems;
  }

  clear(): void {
    this.#parts = this.#items = 0;
  }

  /** Counts a list, an object or a member. */
  part(): void {
    if (++this.#parts > this.#mostParts) throw tooMany("lists, objects and members", this.#mostParts);
  }

  /** Counts an item of a list. */
  item(): void {
    if (++this.#items > this.#mostItems) throw tooMany("items of lists", this.#mostItems);
  }
}

function tooMany(what: string, most: number): WireFault {
  return new WireFault("malformed", `it has more than ${most} ${what}`);
}
