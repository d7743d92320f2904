/**
 * MP3 (LAME), AAC (FFmpeg) and FLAC (libFLAC), through Mediabunny.
 *
 * Each stream's encoder is a thread of its own. `encode` waits until all but the encoder's look-ahead has come back,
 * so that audio is sent before the next piece is spoken. Mediabunny's file writers are not used: a stream needs a
 * header per packet (AAC), one at its start (FLAC), or none (MP3).
 */
import type { AudioCodec, EncodedPacket, OutputFormat } from "mediabunny";
import { type Quality, sampleRate } from "../job.ts";
import { adtsFrame } from "./adts.ts";
import type { Encoder } from "./encoder.ts";

interface Coding {
  readonly codec: AudioCodec;
  /** Bits per second; FLAC has no choice. */
  readonly bitRate?: Readonly<Record<Quality, number>>;
  format(mediabunny: typeof import("mediabunny")): OutputFormat;
  register(): Promise<void>;
  /** Returns the stream's bytes for a packet. The first has the stream's description, where the codec gives one. */
  frame(packet: Uint8Array, description: Uint8Array | undefined): readonly Uint8Array[];
}

const bitRate = { standard: 64_000, high: 128_000 };

export const createMp3Encoder = (quality: Quality) =>
  createPacketEncoder(quality, {
    codec: "mp3",
    bitRate,
    format: ({ Mp3OutputFormat }) => new Mp3OutputFormat({ xingHeader: false }),
    register: async () => (await import("@mediabunny/mp3-encoder")).registerMp3Encoder(),
    frame: (packet) => [packet],
  });

export const createAacEncoder = (quality: Quality) =>
  createPacketEncoder(quality, {
    codec: "aac",
    bitRate,
    format: ({ AdtsOutputFormat }) => new AdtsOutputFormat(),
    register: async () => (await import("@mediabunny/aac-encoder")).registerAacEncoder(),
    frame: (packet) => adtsFrame(packet),
  });

export const createFlacEncoder = (quality: Quality) =>
  createPacketEncoder(quality, {
    codec: "flac",
    format: ({ FlacOutputFormat }) => new FlacOutputFormat({ appendOnly: true }),
    register: async () => (await import("@mediabunny/flac-encoder")).registerFlacEncoder(),
    frame: (packet, description) => (description ? [description, packet] : [packet]),
  });

/** The longest look-ahead of the encoders, in samples: FLAC's block. */
const lookAhead = 6000;

async function createPacketEncoder(quality: Quality, coding: Coding): Promise<Encoder> {
  const mediabunny = await import("mediabunny");
  await coding.register();
  const ready: Uint8Array[] = [];
  let samplesIn = 0;
  let samplesOut = 0;
  let progress = () => {};

  const source = new mediabunny.AudioSampleSource({
    codec: coding.codec,
    ...(coding.bitRate ? { bitrate: coding.bitRate[quality] } : {}),
    onEncodedPacket(packet: EncodedPacket, more?: EncodedAudioChunkMetadata) {
      ready.push(...coding.frame(packet.data, asBytes(more?.decoderConfig?.description)));
      samplesOut += Math.round(packet.duration * sampleRate);
      progress();
    },
  });
  const output = new mediabunny.Output({ format: coding.format(mediabunny), target: new mediabunny.NullTarget() });
  output.addAudioTrack(source);
  await output.start();

  async function add(samples: Int16Array<ArrayBuffer>): Promise<void> {
    const timestamp = samplesIn / sampleRate;
    samplesIn += samples.length;
    const format = { format: "s16", numberOfChannels: 1, sampleRate } as const;
    const sample = new mediabunny.AudioSample({ data: samples, ...format, timestamp });
    await source.add(sample);
    sample.close();
  }

  // The first sample starts the thread. Every sound begins silent, so the sample is known before a word is spoken.
  await add(new Int16Array(1));
  let known = 1;

  return {
    async encode(samples) {
      if (samples.length > known) await add(samples.subarray(known));
      known = 0;
      while (samplesOut < samplesIn - lookAhead) {
        await new Promise<void>((resolve) => {
          progress = resolve;
        });
      }
      return Buffer.concat(ready.splice(0));
    },
    async end() {
      await output.finalize();
      return Buffer.concat(ready.splice(0));
    },
    async close() {
      if (output.state !== "finalized") await output.cancel();
    },
  };
}

function asBytes(source: ArrayBuffer | ArrayBufferView<ArrayBuffer> | undefined): Uint8Array | undefined {
  if (source === undefined) return undefined;
  return ArrayBuffer.isView(source)
    ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);
}
