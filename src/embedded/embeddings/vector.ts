/**
 * Features → a vector of length 1, by signed feature hashing.
 *
 * Each feature is hashed to a slot, and each slot to a position in the vector and a sign, so that features which
 * share a position cancel out as often as they add up. A slot counts by its logarithm: the tenth occurrence of a word
 * says less than the first. Memory is the same for inputs of any length.
 */
import { featuresOf } from "./features.ts";
import type { EmbeddedInput } from "./inputs.ts";
import type { Pace } from "./pace.ts";

const slotBits = 18;

/** Fine enough that rounding is invisible in 32-bit floats. */
const precision = 1e9;

/** vectorOf throws a Refusal when the caller disconnects. */
export async function vectorOf(input: EmbeddedInput, dimensions: number, pace: Pace): Promise<number[]> {
  const slots = new Map<number, number>();
  for (const features of featuresOf(input)) {
    for (const { name, weight } of features) {
      const slot = hash(name) >>> (32 - slotBits);
      slots.set(slot, (slots.get(slot) ?? 0) + weight);
    }
    if (pace.isDue(features.length * 8)) await pace.rest();
  }
  if (pace.isDue(dimensions + slots.size)) await pace.rest();
  return unit(folded(slots, dimensions));
}

function folded(slots: ReadonlyMap<number, number>, dimensions: number): Float64Array {
  const vector = new Float64Array(dimensions);
  for (const [slot, weight] of slots) {
    const mixed = mix(slot);
    const place = (mixed >>> 1) % dimensions;
    vector[place] = (vector[place] as number) + (mixed & 1 ? 1 : -1) * Math.log1p(weight);
  }
  return vector;
}

/** Scales to length 1. A text without features, or whose features cancel out, points along the first axis. */
function unit(vector: Float64Array): number[] {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  if (length < 1 / precision) return Array.from(vector, (_, place) => (place === 0 ? 1 : 0));
  // Adding zero turns minus zero, which JSON does not have, into zero.
  return Array.from(vector, (value) => Math.round((value / length) * precision) / precision + 0);
}

/** FNV-1a over UTF-16 code units, mixed so that every bit counts. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return mix(value);
}

/** The finaliser of MurmurHash3. */
function mix(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
