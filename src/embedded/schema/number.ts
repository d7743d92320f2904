/**
 * Makes numbers for `minimum`, `maximum`, their exclusive forms and `multipleOf`: 1 where allowed, else the value
 * nearest to a bound.
 */
import type { JsonObject } from "../../wire/json.ts";
import { asNumber } from "./schema.ts";

export interface NumberRules {
  readonly low: number;
  readonly lowOpen: boolean;
  readonly high: number;
  readonly highOpen: boolean;
  readonly multiples: readonly number[];
}

export const anyNumber: NumberRules = {
  low: -Infinity,
  lowOpen: false,
  high: Infinity,
  highOpen: false,
  multiples: [],
};

/** Multiples tried before giving up. */
const tries = 1000;

/** Narrows the rules by a schema's. The boolean `exclusiveMinimum` of older drafts is read, too. */
export function addNumber(rules: NumberRules, schema: JsonObject): NumberRules {
  let { low, lowOpen, high, highOpen } = rules;
  const raise = (bound: number | undefined, open: boolean) => {
    if (bound === undefined || bound < low || (bound === low && lowOpen)) return;
    [low, lowOpen] = [bound, open];
  };
  const lower = (bound: number | undefined, open: boolean) => {
    if (bound === undefined || bound > high || (bound === high && highOpen)) return;
    [high, highOpen] = [bound, open];
  };
  raise(asNumber(schema.minimum), schema.exclusiveMinimum === true);
  raise(asNumber(schema.exclusiveMinimum), true);
  lower(asNumber(schema.maximum), schema.exclusiveMaximum === true);
  lower(asNumber(schema.exclusiveMaximum), true);
  const multiple = asNumber(schema.multipleOf);
  return { low, lowOpen, high, highOpen, multiples: multiple ? [...rules.multiples, multiple] : rules.multiples };
}

/** numberFor returns the number with this index among those that fit; undefined without one. */
export function numberFor(rules: NumberRules, whole: boolean, place: number): number | undefined {
  const unit = Math.max(whole ? 1 : 0, ...rules.multiples);
  if (unit === 0) return fraction(rules, place);
  const lowest = Math.ceil(rules.low / unit);
  const highest = Math.floor(rules.high / unit);
  const start = Math.min(Math.max(1, lowest), highest);
  let skip = place;
  for (let i = 0; i < tries; i++) {
    // Counts up from the start, then down, so that a closed range is used to its last number.
    const count = start + i <= highest ? start + i : highest - i;
    const value = count * unit + 0; // Adding 0 turns -0 into 0.
    if (count < lowest) return undefined;
    const fits = within(rules, value) && (!whole || Number.isInteger(value));
    if (fits && rules.multiples.every((multiple) => Number.isInteger(value / multiple)) && skip-- === 0) return value;
  }
  return undefined;
}

function fraction(rules: NumberRules, place: number): number | undefined {
  const { low, high } = rules;
  const start = low === -Infinity ? Math.min(high, 1) : Math.max(low, Math.min(1, high));
  const room = Math.min(high, Math.max(low, start) + 1e6);
  const candidates = [start + place, start + place + 0.5, start - place - 0.5, low + (room - low) / (place + 2), high];
  if (low === -Infinity) candidates.push(high - place - 1);
  return candidates.find((value) => Number.isFinite(value) && within(rules, value));
}

function within(rules: NumberRules, value: number): boolean {
  const { low, high } = rules;
  return (rules.lowOpen ? value > low : value >= low) && (rules.highOpen ? value < high : value <= high);
}
