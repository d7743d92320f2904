/**
 * Words → speech by CMU Flite: a few words in one voice, at its own 16 kHz.
 *
 * Each piece is a run of the whole program, so that no state is left for the next and a fault cannot spread. Throws
 * where the program fails.
 */
import { isExecutable, loadPackageBytes } from "../../../package/package-files.ts";
import { createProgram } from "./program.ts";
import type { Voice } from "./voices.ts";

/** Compiles Flite: 40 ms in other threads. The module can be sent to a worker, with its machine code. */
export async function compileFlite(): Promise<WebAssembly.Module> {
  const bytes = await loadPackageBytes("wasm/flite.wasm");
  const compiled = await WebAssembly.compile(bytes);
  // The module has its own copy. An idle process would keep these 21 MB for long.
  if (!isExecutable) bytes.buffer.transfer(0);
  return compiled;
}

export const fliteRate = 16_000;

export interface Delivery {
  readonly speaker: Voice["speaker"];
  /** Factor of the duration. */
  readonly stretch: number;
  /** Factor of the pitch. */
  readonly pitch: number;
}

/** Flite speaks words of printable ASCII. */
export type Flite = (words: string, delivery: Delivery) => Int16Array;

export function createFlite(compiled: WebAssembly.Module): Flite {
  const program = createProgram(compiled);
  const say: Flite = (words, { speaker, stretch, pitch }) => {
    const features = [`duration_stretch=${stretch}`, `f0_shift=${pitch}`].flatMap((feature) => ["--setf", feature]);
    return samplesOf(program.run(["flite", "-voice", speaker, ...features, "-t", words, "-o", "speech.wav"]));
  };
  return (words, delivery) => (delivery.stretch < exactFrom ? sayFast(say, words, delivery) : say(words, delivery));
}

/** From this stretch on the duration is exact. */
const exactFrom = 0.5;

/**
 * sayFast speaks fast. Sounds last whole frames of 5 ms, at least a few of them, so fast speech comes out longer than asked, depending on
 * the words. Duration is nearly linear in the stretch, so two tries tell what to ask for.
 */
function sayFast(say: Flite, words: string, delivery: Delivery): Int16Array {
  const tried = delivery.stretch * 0.85;
  const exact = say(words, { ...delivery, stretch: exactFrom }).length;
  const short = say(words, { ...delivery, stretch: tried }).length;
  const wanted = (exact * delivery.stretch) / exactFrom;
  const slope = (exact - short) / (exactFrom - tried);
  if (slope <= 0) return say(words, delivery);
  const stretch = tried + (wanted - short) / slope;
  return say(words, { ...delivery, stretch: Math.max(stretch, delivery.stretch / 2) });
}

/** samplesOf reads the plain header that Flite writes: 44 bytes, then the data. */
function samplesOf(wave: Uint8Array<ArrayBuffer>): Int16Array {
  const header = 44;
  const view = new DataView(wave.buffer, wave.byteOffset, wave.byteLength);
  if (wave.length < header || view.getUint32(24, true) !== fliteRate) throw new Error("flite: not the wave expected");
  return new Int16Array(wave.buffer, wave.byteOffset + header, (wave.length - header) >> 1);
}
