/** Chooses the encoder of a format, and can make one ahead of the job that needs it. */
import type { Format, Job, Quality } from "../job.ts";
import type { Encoder } from "./encoder.ts";
import { createAacEncoder, createFlacEncoder, createMp3Encoder } from "./mediabunny.ts";
import { createOpusEncoder } from "./opus.ts";
import { createPcmEncoder, createWavEncoder } from "./wave.ts";

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
export function prepareEncoder({ format, quality }: Kind): void {
  if (!threaded.has(format) || (ahead?.format === format && ahead.quality === quality)) return;
  // What fails here is tried again when it is wanted.
  ahead?.encoder.then((unused) => unused.close()).catch(() => {});
  const encoder = encoders[format](quality);
  encoder.catch(() => {});
  ahead = { format, quality, encoder };
}
