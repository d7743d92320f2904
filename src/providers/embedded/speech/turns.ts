/**
 * Whose turn is next: all parts with a seat in order, each a step at a time, so that a long text holds nobody up.
 *
 * Seats are few, since each has an encoder. Who finds none waits, first come first served. A part that nobody takes
 * from loses its seat to one that waits, and begins again when it is wanted.
 */
import type { Part } from "./part.ts";

export interface Turns {
  add(part: Part): void;
  remove(part: Part): void;
  /** Returns the part whose turn it is, or undefined where none can go on. */
  next(): Part | undefined;
  /** Whether a part waits for a seat. */
  readonly crowded: boolean;
  /** Every part, seated or waiting. */
  all(): readonly Part[];
}

export interface TurnsOptions {
  readonly seats: number;
  /** After how long nobody has taken anything the seat is given away, in milliseconds. */
  readonly patience: number;
  /** Told when a part has lost its seat. */
  readonly unseated: (part: Part) => void;
}

export function createTurns({ seats, patience, unseated }: TurnsOptions): Turns {
  /** In the order of their turns. */
  let seated: Part[] = [];
  let waiting: Part[] = [];

  function makeSeats(): void {
    const wanted = waiting.filter((part) => part.hasRoom).length - (seats - seated.length);
    if (wanted <= 0) return;
    for (const part of seated.filter(({ stalledFor }) => stalledFor >= patience).slice(0, wanted)) {
      seated = seated.filter((other) => other !== part);
      waiting.push(part);
      unseated(part);
    }
  }

  function seat(): void {
    makeSeats();
    const arriving = waiting.filter((part) => part.hasRoom).slice(0, seats - seated.length);
    waiting = waiting.filter((part) => !arriving.includes(part));
    seated.push(...arriving);
  }

  return {
    add: (part) => void waiting.push(part),
    remove(part) {
      seated = seated.filter((other) => other !== part);
      waiting = waiting.filter((other) => other !== part);
    },
    next() {
      seat();
      const part = seated.find(({ hasRoom }) => hasRoom);
      if (part) seated = [...seated.filter((other) => other !== part), part];
      return part;
    },
    get crowded() {
      return waiting.length > 0;
    },
    all: () => [...seated, ...waiting],
  };
}
