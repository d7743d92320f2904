/**
 * Whose turn is next, so that a long text holds nobody up and a new one is heard soon.
 *
 * Seats are few, since each has an encoder. All parts with a seat go in order, a step at a time; every other turn is a
 * newcomer's. Where all seats are taken, some are a guest's: it makes way for a newcomer once it has had its first few
 * turns. Who has no seat waits, first come first served, and then begins again where it was. So does a part that nobody
 * takes from, where another wants its seat.
 */
import type { Part } from "./part.ts";

export interface Turns {
  /** Returns false where too many wait. */
  add(part: Part): boolean;
  remove(part: Part): void;
  /** Returns the part whose turn it is, or undefined where none can go on. */
  next(): Part | undefined;
  /** Whether a part waits for a seat. */
  readonly crowded: boolean;
  /** Every part, seated or waiting. */
  all(): readonly Part[];
}

export interface TurnsOptions {
  /** Seats that newcomers take from nobody. */
  readonly seats: number;
  /** Seats besides. */
  readonly guests: number;
  /** How many parts may wait. */
  readonly most: number;
  /** After how long nobody has taken anything the seat is given away, in milliseconds. */
  readonly patience: number;
  /** Told when a part has lost its seat. */
  readonly unseated: (part: Part) => void;
}

/** As many as a part makes ahead of its taker: so no newcomer has to be taken from before it has had them. */
const firstTurns = 4;

export function createTurns(options: TurnsOptions): Turns {
  return new RoundRobin(options);
}

class RoundRobin implements Turns {
  readonly #options: TurnsOptions;
  /** In the order of their turns. */
  #seated: Part[] = [];
  #waiting: Part[] = [];
  /** Number of turns that each part has had. */
  readonly #turns = new Map<Part, number>();
  #lastWasNew = false;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  add(part: Part): boolean {
    if (this.#waiting.length >= this.#options.most) return false;
    this.#waiting.push(part);
    return true;
  }

  remove(part: Part): void {
    this.#seated = this.#seated.filter((other) => other !== part);
    this.#waiting = this.#waiting.filter((other) => other !== part);
    this.#turns.delete(part);
  }

  next(): Part | undefined {
    this.#seat();
    const ready = this.#seated.filter(({ hasRoom }) => hasRoom);
    const part = ready.find((one) => this.#isNew(one) !== this.#lastWasNew) ?? ready[0];
    if (!part) return undefined;
    this.#lastWasNew = this.#isNew(part);
    this.#turns.set(part, this.#turnsOf(part) + 1);
    this.#seated = [...this.#seated.filter((other) => other !== part), part];
    return part;
  }

  get crowded(): boolean {
    return this.#waiting.length > 0;
  }

  all(): readonly Part[] {
    return [...this.#seated, ...this.#waiting];
  }

  #turnsOf(part: Part): number {
    return this.#turns.get(part) ?? 0;
  }

  #isNew(part: Part): boolean {
    return this.#turnsOf(part) < firstTurns;
  }

  #seat(): void {
    const { seats, guests } = this.#options;
    const ready = this.#waiting.filter((part) => part.hasRoom);
    const inOrder = [...ready.filter((part) => this.#isNew(part)), ...ready.filter((part) => !this.#isNew(part))];
    for (const part of inOrder) {
      if (this.#seated.length >= seats + guests) this.#makeWay(this.#isNew(part));
      if (this.#seated.length >= seats + guests) return;
      this.#waiting = this.#waiting.filter((other) => other !== part);
      this.#seated.push(part);
    }
  }

  /** Unseats a stalled part, or a guest for a newcomer, where there is one. */
  #makeWay(isForNewcomer: boolean): void {
    const { seats, patience } = this.#options;
    const stalled = this.#seated.find(({ stalledFor }) => stalledFor >= patience);
    // The part with the fewest turns has the fewest to repeat.
    const settled = this.#seated
      .filter((part) => !this.#isNew(part))
      .sort((a, b) => this.#turnsOf(a) - this.#turnsOf(b));
    const guest = isForNewcomer && settled.length > seats ? settled[0] : undefined;
    const leaving = stalled ?? guest;
    if (leaving) this.#unseat(leaving);
  }

  #unseat(part: Part): void {
    this.#seated = this.#seated.filter((other) => other !== part);
    this.#waiting.push(part);
    this.#options.unseated(part);
  }
}
