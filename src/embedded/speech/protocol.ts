/**
 * The messages between the scheduler and the speech worker.
 *
 * The worker only answers: each `turn` gets one `turned` or `failed` before the next is sent.
 */
import type { Job } from "./job.ts";

export type ToWorker =
  /** Passes Flite, before anything else. There is no answer. */
  | { readonly kind: "load"; readonly flite: WebAssembly.Module }
  /** Asks for the next piece of a job's file. The first turn carries the job. */
  | { readonly kind: "turn"; readonly id: number; readonly job?: Job }
  /** Drops a job. There is no answer. */
  | { readonly kind: "drop"; readonly id: number };

export type FromWorker =
  /** Carries the next bytes, possibly none. `samples` is the length of the audio, sent at its end. */
  | { readonly kind: "turned"; readonly bytes: Uint8Array; readonly samples?: number }
  /** Reports a failed job. */
  | { readonly kind: "failed"; readonly message: string };
