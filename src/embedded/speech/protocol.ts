/**
 * What the keeper of the speech worker and the worker say to one another.
 *
 * The worker does nothing unasked: one `turn` is answered by one `turned` or `failed` before the next is asked for.
 */
import type { Job } from "./job.ts";

export type ToWorker =
  /** Hands over Flite, before anything else; not answered. */
  | { readonly kind: "load"; readonly flite: WebAssembly.Module }
  /** Asks for the next piece of a job's file. The first time the job comes with it. */
  | { readonly kind: "turn"; readonly id: number; readonly job?: Job }
  /** Forgets a job; not answered. */
  | { readonly kind: "drop"; readonly id: number };

export type FromWorker =
  /** Hands over the next bytes, perhaps none; `samples` is the length of the sound, told at its end. */
  | { readonly kind: "turned"; readonly bytes: Uint8Array; readonly samples?: number }
  /** Gives up the job. */
  | { readonly kind: "failed"; readonly message: string };
