/** CallStreams are the upstream streams that one call reads: one, or one for each of its prompts. */
import type { CallRecord } from "../../call/call-record.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { Deferred, type MaybePromise } from "../../runtime/maybe-promise.ts";
import type { DrainedStream, Drains } from "./drains.ts";

/** ReadStream is a stream that a call reads. */
export interface ReadStream extends DrainedStream {
  /** Drains the stream if content has arrived, and aborts its upstream request if not. */
  leave(): void;
}

export class CallStreams {
  readonly drains: Drains;
  /** Fires when the caller disconnects. */
  readonly caller: Signal;
  readonly #record: CallRecord;
  /** Copied on each change: an array that grows in place reserves room for sixteen more, in each of thousands of calls. */
  #reading: readonly ReadStream[] = [];
  #draining = 0;
  #drained: Deferred<void> | undefined;

  constructor(drains: Drains, { record, signal }: { readonly record: CallRecord; readonly signal: Signal }) {
    this.drains = drains;
    this.caller = signal;
    this.#record = record;
  }

  isDraining(): boolean {
    return this.#draining > 0;
  }

  /** Notes that the caller reads no more. The result is there when no stream of the call is drained any more. */
  left(): MaybePromise<void> {
    for (const stream of this.#reading) stream.leave();
    if (this.#draining === 0) return undefined;
    this.#drained ??= new Deferred<void>();
    return this.#drained;
  }

  /** Notes that the call failed while its caller was connected: then nothing is drained. */
  failed(): void {
    for (const stream of this.#reading) stream.cut();
  }

  readingBegan(stream: ReadStream): void {
    this.#reading = [...this.#reading, stream];
  }

  readingEnded(stream: ReadStream): void {
    this.#reading = this.#reading.filter((one) => one !== stream);
  }

  drainBegan(stream: ReadStream): void {
    this.#draining++;
    this.drains.add(stream);
  }

  /** `ms` is how long the stream was drained. */
  drainEnded(stream: ReadStream, ms: number): void {
    this.#record.drainedMs = Math.max(this.#record.drainedMs ?? 0, ms);
    this.drains.delete(stream);
    if (--this.#draining === 0) this.#drained?.resolve();
  }
}
