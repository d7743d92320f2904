/**
 * JSON and bytes that are nearly right: some members of a valid value replaced, removed, or
 * added, by what nobody expects there.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { pick, type Random } from "../support/run/random.ts";

/** What every object has, and other names that mean something to somebody. */
const oddNames = ["constructor", "__proto__", "toString", "valueOf", "hasOwnProperty", "__defineGetter__", "length"];

/** Members that decide where a call goes and what it costs. */
const tellingNames =
  "model models stream n messages input prompt tools type content usage choices error data delta".split(" ");

const oddValues: readonly (() => JsonValue)[] = [
  ...[null, true, false, 0, -1, 1.5, 1e300, 9007199254740992, ""].map((value) => () => value),
  ...oddNames.map((name) => () => name),
  ...[
    "{}",
    "[]",
    "null",
    '{"toString":1}',
    '{"toString":1,"valueOf":null}',
    "[null]",
    "[[]]",
    '[{"toString":1}]',
    '[1,"a"]',
  ].map((text) => () => JSON.parse(text) as JsonValue),
  ...[
    '{"__proto__":{"a":1}}',
    '{"constructor":1}',
    '{"length":3}',
    '{"type":"constructor"}',
    '{"text":{"toString":1}}',
  ].map((text) => () => JSON.parse(text) as JsonValue),
  () => "long ".repeat(5000),
  () => "\ud800 line\r\nbreak\u0000 \u2028",
  () => JSON.parse("[".repeat(200) + "]".repeat(200)) as JsonValue,
];

export function oddValue(random: Random): JsonValue {
  return pick(oddValues, random)();
}

/** Returns a copy that differs at some random places, one to three of them. */
export function mutated<T extends JsonValue>(value: T, random: Random): T {
  let copy = structuredClone(value) as JsonValue;
  const times = 1 + Math.floor(random() * 3);
  for (let i = 0; i < times; i++) copy = mutatedOnce(copy, random);
  return copy as T;
}

function mutatedOnce(value: JsonValue, random: Random): JsonValue {
  const holders = holdersIn(value);
  const holder = holders.length === 0 ? undefined : pick(holders, random);
  if (holder === undefined) return oddValue(random);
  const key = pick(Object.keys(holder), random);
  const action = random();
  if (action < 0.6 && key !== undefined) set(holder, key, oddValue(random));
  else if (action < 0.8 && key !== undefined) {
    if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else delete holder[key];
  } else if (Array.isArray(holder)) holder.push(oddValue(random));
  else set(holder, pick([...oddNames, ...tellingNames, key ?? "extra"], random), oddValue(random));
  return value;
}

/** Sets it as JSON does: `__proto__` is a key like others. */
function set(holder: JsonObject | JsonValue[], key: string, value: JsonValue): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

/** All lists and objects in a value, itself included. */
function holdersIn(value: JsonValue): (JsonObject | JsonValue[])[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(holdersIn)];
}

/** Returns the bytes with some of them other, more or fewer. */
export function mutatedBytes(bytes: Uint8Array, random: Random): Buffer {
  let copy = Buffer.from(bytes);
  const times = 1 + Math.floor(random() * 4);
  for (let i = 0; i < times; i++) {
    const at = Math.floor(random() * (copy.length + 1));
    const action = random();
    if (action < 0.5 && copy.length > 0) copy[at % copy.length] = Math.floor(random() * 256);
    else if (action < 0.75) copy = copy.subarray(0, at);
    else copy = Buffer.concat([copy.subarray(0, at), Buffer.from([Math.floor(random() * 256)]), copy.subarray(at)]);
  }
  return copy;
}
