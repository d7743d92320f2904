/** Chooses the encoder of a format, and prepares one for the next job. */
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

/** Formats whose encoder runs in its own thread, whose start takes longer than the first words. */
const threaded: ReadonlySet<Format> = new Set(["mp3", "aac", "flac"]);

let ahead: (Kind & { readonly encoder: Promise<Encoder> }) | undefined;

/** createEncoder returns the prepared encoder where it is of this kind, else a new one. */
export function createEncoder({ format, quality }: Kind): Promise<Encoder> {
  if (ahead?.format !== format || ahead.quality !== quality) return encoders[format](quality);
  const { encoder } = ahead;
  ahead = undefined;
  return encoder.catch(() => encoders[format](quality));
}

/** prepareEncoder prepares an encoder for the next job of this kind. There is one at a time: one of another kind is closed. */
export function prepareEncoder({ format, quality }: Kind): void {
  if (!threaded.has(format) || (ahead?.format === format && ahead.quality === quality)) return;
  // A failure is ignored: the next job tries again.
  ahead?.encoder.then((unused) => unused.close()).catch(() => {});
  const encoder = encoders[format](quality);
  encoder.catch(() => {});
  ahead = { format, quality, encoder };
}
