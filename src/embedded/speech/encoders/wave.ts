/**
 * WAV and raw samples: 16 bit, least significant byte first, one channel.
 *
 * A WAV header has the length, which is unknown at the start: both sizes are 0xFFFFFFFF, as players expect of a
 * stream. `finish.ts` writes the true sizes where the file is returned whole.
 */
import { sampleRate } from "../job.ts";
import type { Encoder } from "./encoder.ts";

export async function createPcmEncoder(): Promise<Encoder> {
  return { encode: async (samples) => littleEndian(samples), end: async () => new Uint8Array(), close: async () => {} };
}

export async function createWavEncoder(): Promise<Encoder> {
  let header = waveHeader();
  const withHeader = (bytes: Uint8Array) => {
    const joined = Buffer.concat([header, bytes]);
    header = Buffer.alloc(0);
    return joined;
  };
  return {
    encode: async (samples) => withHeader(littleEndian(samples)),
    end: async () => withHeader(new Uint8Array()),
    close: async () => {},
  };
}

function littleEndian(samples: Int16Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(2 * samples.length);
  const view = new DataView(bytes.buffer);
  for (const [i, sample] of samples.entries()) view.setInt16(2 * i, sample, true);
  return bytes;
}

function waveHeader(): Buffer {
  const unknown = 0xffff_ffff;
  const header = Buffer.alloc(44);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(unknown, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20); // PCM.
  header.writeUInt16LE(1, 22); // Channels.
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE(2 * sampleRate, 28);
  header.writeUInt16LE(2, 32); // Bytes per sample.
  header.writeUInt16LE(16, 34); // Bits per sample.
  header.write("data", 36, "latin1");
  header.writeUInt32LE(unknown, 40);
  return header;
}
