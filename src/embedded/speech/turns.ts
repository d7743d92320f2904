/**
 * Whose turn is next, so that a long text holds nobody up and a new one is heard soon.
 *
 * Seats are few, since each has an encoder. All parts with a seat go in order, a step at a time; every other turn is a
 * newcomer's. Where all seats are taken, some are a guest's: it makes way for a newcomer once it has had its first few
 * turns. Who has no seat waits, first come first served, and then begins again where it was. So does a part that nobody
 * takes from, where another wants its seat.
 */
import type { Recording } from "./part.ts";

export interface Turns {
  /** Returns false where too many wait. */
  add(recording: Recording): boolean;
  remove(recording: Recording): void;
  /** Returns the part whose turn it is, or undefined where none can go on. */
  next(): Recording | undefined;
  /** Whether a part waits for a seat. */
  readonly crowded: boolean;
  /** Every part, seated or waiting. */
  all(): readonly Recording[];
}

export interface TurnsOptions {
  /** Seats that newcomers take from nobody. */
  readonly seats: number;
  /** Seats besides. */
  readonly guests: number;
  /** How many parts may wait. */
  readonly maxWaiting: number;
  /** After how long nobody has taken anything the seat is given away, in milliseconds. */
  readonly stallMs: number;
  /** Told when a part has lost its seat. */
  readonly onUnseated: (recording: Recording) => void;
}

/** As many as a part makes ahead of its taker: so no newcomer has to be taken from before it has had them. */
const firstTurns = 4;

export function createTurns(options: TurnsOptions): Turns {
  return new RoundRobin(options);
}

class RoundRobin implements Turns {
  readonly #options: TurnsOptions;
  /** In the order of their turns. */
  #seated: Recording[] = [];
  #waiting: Recording[] = [];
  /** Number of turns that each part has had. */
  readonly #turns = new Map<Recording, number>();
  #lastWasNew = false;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  add(recording: Recording): boolean {
    if (this.#waiting.length >= this.#options.maxWaiting) return false;
    this.#waiting.push(recording);
    return true;
  }

  remove(recording: Recording): void {
    this.#seated = this.#seated.filter((other) => other !== recording);
    this.#waiting = this.#waiting.filter((other) => other !== recording);
    this.#turns.delete(recording);
  }

  next(): Recording | undefined {
    this.#seat();
    const ready = this.#seated.filter(({ hasRoom }) => hasRoom);
    const recording = ready.find((one) => this.#isNew(one) !== this.#lastWasNew) ?? ready[0];
    if (!recording) return undefined;
    this.#lastWasNew = this.#isNew(recording);
    this.#turns.set(recording, this.#turnsOf(recording) + 1);
    this.#seated = [...this.#seated.filter((other) => other !== recording), recording];
    return recording;
  }

  get crowded(): boolean {
    return this.#waiting.length > 0;
  }

  all(): readonly Recording[] {
    return [...this.#seated, ...this.#waiting];
  }

  #turnsOf(recording: Recording): number {
    return this.#turns.get(recording) ?? 0;
  }

  #isNew(recording: Recording): boolean {
    return this.#turnsOf(recording) < firstTurns;
  }

  #seat(): void {
    const { seats, guests } = this.#options;
    const ready = this.#waiting.filter((recording) => recording.hasRoom);
    const inOrder = [
      ...ready.filter((recording) => this.#isNew(recording)),
      ...ready.filter((recording) => !this.#isNew(recording)),
    ];
    for (const recording of inOrder) {
      if (this.#seated.length >= seats + guests) this.#makeWay(this.#isNew(recording));
      if (this.#seated.length >= seats + guests) return;
      this.#waiting = this.#waiting.filter((other) => other !== recording);
      this.#seated.push(recording);
    }
  }

  /** Unseats a stalled part, or a guest for a newcomer, where there is one. */
  #makeWay(isForNewcomer: boolean): void {
    const { seats, stallMs } = this.#options;
    const stalled = this.#seated.find(({ stalledFor }) => stalledFor >= stallMs);
    // The part with the fewest turns has the fewest to repeat.
    const settled = this.#seated
      .filter((recording) => !this.#isNew(recording))
      .sort((a, b) => this.#turnsOf(a) - this.#turnsOf(b));
    const guest = isForNewcomer && settled.length > seats ? settled[0] : undefined;
    const leaving = stalled ?? guest;
    if (leaving) this.#unseat(leaving);
  }

  #unseat(recording: Recording): void {
    this.#seated = this.#seated.filter((other) => other !== recording);
    this.#waiting.push(recording);
    this.#options.onUnseated(recording);
  }
}
