/**
 * A job → its audio, piece by piece, as samples at the answer's rate.
 *
 * Text that has nothing to speak becomes silence: 0.1 s per character with a meaning, 0.25 to 1 s in total.
 */

import { type Job, type Quality, sampleRate } from "../job.ts";
import { type Flite, fliteRate } from "./flite.ts";
import { type Piece, piecesOf } from "./pieces.ts";
import { resample } from "./resample.ts";
import { voices } from "./voices.ts";
import { wordsOf } from "./words.ts";

/** Samples on each side that the resampler uses. */
const widths: Readonly<Record<Quality, number>> = { standard: 10, high: 32 };

export function* render(job: Job, flite: Flite): Generator<Int16Array<ArrayBuffer>> {
  const { words, unspoken } = wordsOf(job.text);
  if (words === "") yield silence(Math.min(Math.max(unspoken * 0.1, 0.25), 1) / job.speed);
  for (const piece of piecesOf(words)) yield renderPiece(piece, job, flite);
}

function renderPiece(piece: Piece, { voice, speed, quality }: Job, flite: Flite) {
  const { speaker, tract, pitch, gain } = voices[voice];
  const spoken = flite(piece.words, { speaker, stretch: tract / speed, pitch: pitch / tract });
  const joined = trim(spoken, piece, Math.round((joint * fliteRate * tract) / speed));
  // Played at a rate that fits the vocal tract, resampled to the answer's rate.
  const from = Math.round(fliteRate * tract);
  return loudened(resample(joined, { from, to: sampleRate, width: widths[quality] }), gain);
}

/** Seconds of silence that remain where a piece was cut between two words. */
const joint = 0.02;
/** Samples up to this magnitude are silence. */
const quiet = 150;

/** trim removes silence where no pause belongs. */
function trim(samples: Int16Array, { pauseBefore, pauseAfter }: Piece, keep: number): Int16Array {
  const loud = (sample: number) => Math.abs(sample) > quiet;
  const first = pauseBefore ? 0 : Math.max(samples.findIndex(loud) - keep, 0);
  const last = pauseAfter ? samples.length : samples.findLastIndex(loud) + 1 + keep;
  return samples.subarray(first, Math.max(last, first));
}

function loudened(samples: Float32Array, gain: number): Int16Array<ArrayBuffer> {
  return Int16Array.from(samples, (sample) => Math.max(-32_768, Math.min(32_767, Math.round(sample * gain))));
}

function silence(seconds: number): Int16Array<ArrayBuffer> {
  return new Int16Array(Math.round(seconds * sampleRate));
}
