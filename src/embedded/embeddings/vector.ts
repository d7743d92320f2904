/**
 * Features → a vector of length 1, by signed feature hashing.
 *
 * Each feature is hashed to a slot, and each slot to a place in the vector and a sign, so that features which share a
 * place cancel out as often as they add up. What a slot holds counts by its logarithm: the tenth time that a word
 * comes says less than the first. Memory is the same for every input, however long.
 */
import { featuresOf } from "./features.ts";
import type { EmbeddedInput } from "./inputs.ts";
import type { Pace } from "./pace.ts";

const slotBits = 18;

/** Enough that what is lost by rounding cannot be seen in 32-bit floats. */
const precision = 1e9;

/** Throws a Refusal when the caller leaves. */
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

/** A text without features, or whose features cancel out, points along the first axis. */
function unit(vector: Float64Array): number[] {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  if (length < 1 / precision) return Array.from(vector, (_, place) => (place === 0 ? 1 : 0));
  // The sum with zero makes zero of minus zero, which JSON does not have.
  return Array.from(vector, (value) => Math.round((value / length) * precision) / precision + 0);
}

/** FNV-1a over UTF-16 code units, finished so that every bit counts. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return mix(value);
}

/** The finisher of MurmurHash3. */
function mix(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
