/**
 * A job → the pieces of its file, each made on demand. Returns the number of samples.
 *
 * A step is short: it speaks at most one piece of the text and encodes at most a second of audio.
 */
import { createEncoder, prepareEncoder } from "../encoders/create-encoder.ts";
import { type Job, sampleRate } from "../job.ts";
import type { Flite } from "./flite.ts";
import { render } from "./render.ts";

export type Performance = AsyncGenerator<Uint8Array, number>;

export async function* perform(job: Job, flite: Flite): Performance {
  const encoder = await createEncoder(job);
  try {
    let samples = 0;
    for (const sound of render(job, flite)) {
      for (let at = 0; at < sound.length; at += sampleRate) {
        const bytes = await encoder.encode(sound.slice(at, at + sampleRate));
        // Prepared only now, because it would delay the first bytes.
        prepareEncoder(job);
        yield bytes;
      }
      samples += sound.length;
    }
    yield await encoder.end();
    return samples;
  } finally {
    await encoder.close();
  }
}
