/**
 * What every coding of the sound has in common, and the list of them.
 *
 * The pieces that an encoder gives, put together, are one file. Nothing that was given is changed later, so it can be
 * sent at once; the little that would be known only at the end is left open in the way that the format allows.
 */
import type { Format, Job, Quality } from "../job.ts";
import { createAacEncoder, createFlacEncoder, createMp3Encoder } from "./mediabunny.ts";
import { createOpusEncoder } from "./opus.ts";
import { createPcmEncoder, createWavEncoder } from "./wave.ts";

export interface Encoder {
  /** Takes the next samples, of which the very first is 0, and returns the bytes that are ready. */
  encode(samples: Int16Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>;
  /** Returns the bytes that are left. */
  end(): Promise<Uint8Array<ArrayBuffer>>;
  /** Lets go of everything, whether or not the end was reached. */
  close(): Promise<void>;
}

const encoders: Readonly<Record<Format, (quality: Quality) => Promise<Encoder>>> = {
  mp3: createMp3Encoder,
  opus: createOpusEncoder,
  aac: createAacEncoder,
  flac: createFlacEncoder,
  wav: createWavEncoder,
  pcm: createPcmEncoder,
};

type Kind = Pick<Job, "format" | "quality">;

/** What runs in a thread of its own, whose start takes longer than the first words do. */
const threaded: ReadonlySet<Format> = new Set(["mp3", "aac", "flac"]);

let ahead: (Kind & { readonly encoder: Promise<Encoder> }) | undefined;

/** Hands over the encoder that was made ahead, where it is of this kind, or makes one. */
export function createEncoder({ format, quality }: Kind): Promise<Encoder> {
  if (ahead?.format !== format || ahead.quality !== quality) return encoders[format](quality);
  const { encoder } = ahead;
  ahead = undefined;
  return encoder.catch(() => encoders[format](quality));
}

/** Makes an encoder for the next job of this kind, in place of one of another kind: there is one at a time. */
export function makeAhead({ format, quality }: Kind): void {
  if (!threaded.has(format) || (ahead?.format === format && ahead.quality === quality)) return;
  // What fails here is tried again when it is wanted.
  ahead?.encoder.then((unused) => unused.close()).catch(() => {});
  const encoder = encoders[format](quality);
  encoder.catch(() => {});
  ahead = { format, quality, encoder };
}
