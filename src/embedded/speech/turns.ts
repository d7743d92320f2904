/**
 * Turns decides whose turn is next, so that a long text blocks nobody and a new one is heard soon.
 *
 * Seats are few, because each holds an encoder. All seated recordings take turns in order; every other turn goes to a
 * newcomer. Some seats are for guests, who give them up to newcomers after their first turns. A recording without a
 * seat waits in order of arrival, and then starts again where it was. A recording that nobody reads gives up its seat
 * where another waits.
 */
import type { Recording } from "./recording.ts";

export interface Turns {
  /** Returns false where too many wait. */
  add(recording: Recording): boolean;
  remove(recording: Recording): void;
  /** Returns the recording whose turn is next; undefined where none has room. */
  next(): Recording | undefined;
  /** crowded is whether a recording waits for a seat. */
  readonly crowded: boolean;
  /** All recordings, seated or waiting. */
  all(): readonly Recording[];
}

export interface TurnsOptions {
  /** Seats that newcomers do not take. */
  readonly seats: number;
  /** Further seats. */
  readonly guests: number;
  /** The most recordings that wait. */
  readonly maxWaiting: number;
  /** Milliseconds without a reader after which a seat is given up. */
  readonly stallMs: number;
  /** Called when a recording has lost its seat. */
  readonly onUnseated: (recording: Recording) => void;
}

/**
 * The first turns of a newcomer: as many as a recording makes ahead of its reader, so that no newcomer loses its seat
 * before.
 */
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
