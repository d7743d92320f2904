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
  /** Takes the next samples and returns the bytes that are ready. */
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

export function createEncoder({ format, quality }: Pick<Job, "format" | "quality">): Promise<Encoder> {
  return encoders[format](quality);
}
