/** Messages by their descriptors, with values at their bounds and beside them. */
import { create, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { pick, type Random } from "../support/run/random.ts";

/** `room` says how many levels of messages may stand in it. */
export function anyMessage(desc: DescMessage, room: number, random: Random): Message {
  const init: Record<string, unknown> = {};
  // Few are what most requests are, and all at once hardly ever keep to their bounds.
  const share = pick([0.1, 0.3, 0.7], random);
  for (const field of desc.fields) {
    if (random() > share || (field.message && room === 0)) continue;
    const value = anyField(field, room - 1, random);
    if (field.oneof) init[field.oneof.localName] = { case: field.localName, value };
    else init[field.localName] = value;
  }
  return create(desc, init);
}

function anyField(field: DescField, room: number, random: Random): unknown {
  const item = () => anyItem(field, room, random);
  if (field.fieldKind === "list") return Array.from({ length: pick([0, 1, 1, 2, 3, 9], random) }, item);
  if (field.fieldKind === "map")
    return Object.fromEntries(["a", "b"].slice(0, pick([0, 1, 2], random)).map((key) => [key, item()]));
  return item();
}

const texts = [
  "",
  "a",
  "a\u0000",
  "me@example.com",
  "\u{1F600}".repeat(100),
  ...[50, 64, 199, 200, 201].map((n) => "a".repeat(n)),
];
const numbers = [-101, -100, -3, -2, -1, 0, 0.25, 1, 2, 3, 4, 5, 20, 21, 100, 101, 128, 129, 1000, 1001, 2 ** 31];
const wholes = numbers.filter(Number.isInteger);

function anyItem({ message, enum: words, scalar }: DescField, room: number, random: Random): unknown {
  if (message?.typeName === "google.protobuf.Struct") return { a: pick<unknown>([1, "b", null, [true]], random) };
  if (message) return anyMessage(message, Math.max(0, room), random);
  if (words) return pick([99, ...words.values.map(({ number }) => number)], random);
  switch (scalar) {
    case ScalarType.STRING:
      return pick(texts, random);
    case ScalarType.BOOL:
      return random() < 0.5;
    case ScalarType.BYTES:
      return new Uint8Array(1);
    case ScalarType.DOUBLE:
      return pick(numbers, random);
    case ScalarType.INT64:
      return BigInt(pick([...wholes, 10 ** 15, 10 ** 15 + 1], random));
  }
  return pick(
    wholes.filter((number) => number >= 0),
    random,
  );
}
