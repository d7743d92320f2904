/**
 * Recording is one request's view of the speech worker: the audio that was made and not taken yet.
 *
 * It holds a few pieces at most, and the worker makes no more while it is full. When the job starts again, bytes that
 * were received already are skipped.
 */
import type { Job } from "./job.ts";

/** Pieces made ahead of the reader; each is a second of audio. */
const ahead = 4;

export class Recording {
  readonly id: number;
  readonly job: Job;
  readonly #clock: () => number;
  /** Called when there is room again. */
  readonly #onRoom: () => void;
  /** begun is whether the worker has the job. */
  begun = false;
  /** Times that the worker was lost during this recording's turn. */
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

  /** Milliseconds since the reader last took a piece; 0 while there is room. */
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

  /** Prepares for a new start of the job: the worker has dropped it, and will send the same bytes again. */
  restart(): void {
    this.begun = false;
    this.#toSkip = this.#received;
  }

  end(samples: number): void {
    this.#samples = samples;
    this.#wake();
  }

  /** Fails the recording. Finished pieces are still handed over, unless nobody waits for them (`atOnce`). */
  fail(failure: Error, { atOnce = false } = {}): void {
    this.#failure ??= failure;
    if (atOnce) this.#pieces = [];
    this.#wake();
  }

  /** Yields the pieces as they come. Returns the length of the audio in samples. */
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
