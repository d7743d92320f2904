/**
 * Completes the head of a file that is handed over whole: how long it is, which the stream could not say.
 */
import type { Format } from "../job.ts";

/** Changes the bytes given. `samples` is the length of the sound. */
export function finish(file: Buffer, format: Format, samples: number): void {
  if (format === "wav") {
    file.writeUInt32LE(file.length - 8, 4);
    file.writeUInt32LE(file.length - 44, 40);
  } else if (format === "flac") {
    // STREAMINFO: the lower 32 of the 36 bits behind rate, channels and bits a sample.
    file.writeUInt32BE(samples, 4 + 4 + 14);
  }
}
