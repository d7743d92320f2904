/**
 * Opus in Ogg: frames of 20 ms, a page for each piece of sound.
 *
 * The last page has the exact end, so that decoders return as many samples as went in.
 */
import { loadPackageBytes } from "../../../package/package-files.ts";
import { type Quality, sampleRate } from "../job.ts";
import type { Encoder } from "./encoder.ts";
import { createOggPages, firstPage, lastPage, opusHeaders, preSkip } from "./ogg.ts";

const settings: Readonly<Record<Quality, { readonly bitRate: number; readonly complexity: number }>> = {
  standard: { bitRate: 32_000, complexity: 5 },
  high: { bitRate: 64_000, complexity: 10 },
};

const frame = sampleRate / 50;
const bytesPerFrame = 2 * frame;
/** Ogg counts samples at 48 kHz, whatever the input. */
const ticks = 48_000 / sampleRate;
/** A page of half a second stays below 255 segments. */
const packetsPerPage = 25;
const maxPacket = 1276;

/** Opus is the Emscripten program of libopus. */
interface Opus {
  readonly HEAPU8: Uint8Array;
  readonly HEAPU16: Uint16Array;
  _malloc(size: number): number;
  _free(at: number): void;
  readonly OpusScriptHandler: {
    new (rate: number, channels: number, application: number): OpusHandler;
    destroy_handler(handler: OpusHandler): void;
  };
}

interface OpusHandler {
  /** Takes the samples as bytes, lower first, each in 16 bits of its own. */
  _encode(bytesAt: number, bytes: number, packetAt: number, samples: number): number;
  _encoder_ctl(request: number, value: number): number;
}

const application = { audio: 2049 } as const;
const control = { bitRate: 4002, complexity: 4010 } as const;

let loaded: Promise<Opus> | undefined;

async function loadOpus(): Promise<Opus> {
  // @ts-expect-error: the package has types for its index only, which looks for its .wasm beside itself.
  const { default: create } = await import("opusscript/build/opusscript_native_wasm.js");
  return create({ wasmBinary: await loadPackageBytes("wasm/opus.wasm") });
}

export async function createOpusEncoder(quality: Quality): Promise<Encoder> {
  loaded ??= loadOpus();
  const coder = createFrameCoder(await loaded, quality);
  const pages = createOggPages();
  let rest: Int16Array = new Int16Array();
  let samplesIn = 0;
  let framesOut = 0;
  let begun = false;

  function* opening(): Generator<Buffer> {
    if (begun) return;
    begun = true;
    const [head, tags] = opusHeaders(sampleRate);
    yield pages.page([head], 0, firstPage);
    yield pages.page([tags], 0);
  }

  /** Encodes whole frames and keeps the rest. With `end` the samples are the last ones. */
  function* code(samples: Int16Array, end: boolean): Generator<Buffer> {
    const frames = Math.floor(samples.length / frame);
    for (let first = 0; first < frames; first += packetsPerPage) {
      const last = Math.min(first + packetsPerPage, frames);
      const packets: Uint8Array[] = [];
      for (let i = first; i < last; i++) packets.push(coder.encode(samples.subarray(i * frame, (i + 1) * frame)));
      framesOut += packets.length;
      const isEnd = end && last === frames;
      yield pages.page(packets, isEnd ? preSkip + samplesIn * ticks : framesOut * frame * ticks, isEnd ? lastPage : 0);
    }
    rest = samples.slice(frames * frame);
  }

  return {
    async encode(samples) {
      samplesIn += samples.length;
      return Buffer.concat([...opening(), ...code(join(rest, samples), false)]);
    },
    async end() {
      // Silence flushes the encoder's look-ahead.
      const left = Math.ceil((rest.length + preSkip / ticks) / frame) * frame;
      return Buffer.concat([...opening(), ...code(join(rest, new Int16Array(left - rest.length)), true)]);
    },
    close: async () => coder.close(),
  };
}

interface FrameCoder {
  encode(samples: Int16Array): Uint8Array;
  close(): void;
}

function createFrameCoder(opus: Opus, quality: Quality): FrameCoder {
  const handler = new opus.OpusScriptHandler(sampleRate, 1, application.audio);
  const bytesAt = opus._malloc(2 * bytesPerFrame);
  const packetAt = opus._malloc(maxPacket);
  handler._encoder_ctl(control.bitRate, settings[quality].bitRate);
  handler._encoder_ctl(control.complexity, settings[quality].complexity);
  return {
    encode(samples) {
      // The memory may have moved, so it is looked up each time.
      opus.HEAPU16.set(new Uint8Array(samples.buffer, samples.byteOffset, bytesPerFrame), bytesAt / 2);
      const size = handler._encode(bytesAt, bytesPerFrame, packetAt, frame);
      if (size < 0) throw new Error(`opus: error ${size}`);
      return opus.HEAPU8.slice(packetAt, packetAt + size);
    },
    close() {
      opus.OpusScriptHandler.destroy_handler(handler);
      opus._free(bytesAt);
      opus._free(packetAt);
    },
  };
}

function join(a: Int16Array, b: Int16Array): Int16Array {
  const joined = new Int16Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}
