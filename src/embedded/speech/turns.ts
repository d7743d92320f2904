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

export function createTurns({ seats, guests, most, patience, unseated }: TurnsOptions): Turns {
  /** In the order of their turns. */
  let seated: Part[] = [];
  let waiting: Part[] = [];
  /** How many turns each has had. */
  const had = new Map<Part, number>();
  let lastWasNew = false;

  const turnsOf = (part: Part) => had.get(part) ?? 0;
  const isNew = (part: Part) => turnsOf(part) < firstTurns;

  function unseat(part: Part): void {
    seated = seated.filter((other) => other !== part);
    waiting.push(part);
    unseated(part);
  }

  /** Makes way for a part, where another has to. */
  function makeWay(newcomer: boolean): void {
    const stalled = seated.find(({ stalledFor }) => stalledFor >= patience);
    // Who has had the fewest turns has the fewest to make again.
    const settled = seated.filter((part) => !isNew(part)).sort((a, b) => turnsOf(a) - turnsOf(b));
    const guest = newcomer && settled.length > seats ? settled[0] : undefined;
    const leaving = stalled ?? guest;
    if (leaving) unseat(leaving);
  }

  function seat(): void {
    const hungry = waiting.filter((part) => part.hasRoom);
    for (const part of [...hungry.filter(isNew), ...hungry.filter((one) => !isNew(one))]) {
      if (seated.length >= seats + guests) makeWay(isNew(part));
      if (seated.length >= seats + guests) return;
      waiting = waiting.filter((other) => other !== part);
      seated.push(part);
    }
  }

  return {
    add(part) {
      if (waiting.length >= most) return false;
      waiting.push(part);
      return true;
    },
    remove(part) {
      seated = seated.filter((other) => other !== part);
      waiting = waiting.filter((other) => other !== part);
      had.delete(part);
    },
    next() {
      seat();
      const ready = seated.filter(({ hasRoom }) => hasRoom);
      const part = ready.find((one) => isNew(one) !== lastWasNew) ?? ready[0];
      if (!part) return undefined;
      lastWasNew = isNew(part);
      had.set(part, turnsOf(part) + 1);
      seated = [...seated.filter((other) => other !== part), part];
      return part;
    },
    get crowded() {
      return waiting.length > 0;
    },
    all: () => [...seated, ...waiting],
  };
}
