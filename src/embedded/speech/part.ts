/**
 * One request's side of the speech worker: what was made and is not yet taken.
 *
 * It holds a few pieces at most: while it is full the worker makes no more for it. When the work has to begin again,
 * it lets pass what it has had already.
 */
import type { Job } from "./job.ts";

/** How many pieces, of a second each, are made ahead of the taker. */
const ahead = 4;

export class Recording {
  readonly id: number;
  readonly job: Job;
  readonly #clock: () => number;
  /** Called when there is room again. */
  readonly #onRoom: () => void;
  /** Whether the worker has the job. */
  begun = false;
  /** How often the worker was lost while it was this part's turn. */
  losses = 0;
  #pieces: Uint8Array[] = [];
  #received = 0;
  #toSkip = 0;
  #samples: number | undefined;
  #failure: Error | undefined;
  #takenAt: number;
  #wake = () => {};

  constructor(id: number, job: Job, clock: () => number, onRoom: () => void) {
    this.id = id;
    this.job = job;
    this.#clock = clock;
    this.#onRoom = onRoom;
    this.#takenAt = clock();
  }

  get hasRoom(): boolean {
    return this.#pieces.length < ahead;
  }

  /** For how long nobody has taken what waits here, in milliseconds. */
  get stalledFor(): number {
    return this.hasRoom ? 0 : this.#clock() - this.#takenAt;
  }

  receive(bytes: Uint8Array): void {
    const skipped = Math.min(this.#toSkip, bytes.length);
    this.#toSkip -= skipped;
    if (bytes.length === skipped) return;
    this.#received += bytes.length - skipped;
    this.#pieces.push(bytes.subarray(skipped));
    this.#wake();
  }

  /** The worker knows the job no more. If it begins again, the same bytes will come once more. */
  restart(): void {
    this.begun = false;
    this.#toSkip = this.#received;
  }

  end(samples: number): void {
    this.#samples = samples;
    this.#wake();
  }

  /** What was made is still taken, except where nobody waits for it any more. */
  fail(failure: Error, { atOnce = false } = {}): void {
    this.#failure ??= failure;
    if (atOnce) this.#pieces = [];
    this.#wake();
  }

  /** Hands over the pieces as they come, and returns the length of the sound in samples. */
  async *take(): AsyncGenerator<Uint8Array, number> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece) {
        this.#takenAt = this.#clock();
        this.#onRoom();
        yield piece;
      } else if (this.#failure) throw this.#failure;
      else if (this.#samples !== undefined) return this.#samples;
      else await this.#news();
    }
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
