/** Completes the header of a file that is returned whole: its length, which a stream cannot know. */
import type { Format } from "../job.ts";

/** Changes the given bytes. `samples` is the length of the audio. */
export function finish(file: Buffer, format: Format, samples: number): void {
  if (format === "wav") {
    file.writeUInt32LE(file.length - 8, 4);
    file.writeUInt32LE(file.length - 44, 40);
  } else if (format === "flac") {
    // STREAMINFO: the lower 32 of the 36 bits after rate, channels and sample size.
    file.writeUInt32BE(samples, 4 + 4 + 14);
  }
}
