/**
 * Counts the parts of a protobuf message before it is read. Two bytes may stand for a message, which costs a thousand
 * times as much in memory. The bounds are those of JSON.
 *
 * The count follows the reader record by record. Where the bytes are malformed the count ends, and the reader refuses
 * them.
 */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, type WireType } from "@bufbuild/protobuf/wire";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { maxParts, PartCounter } from "../bounds.ts";
import { WireFault } from "../fault.ts";
import { binaryOptions } from "../json.ts";
import { fieldsByNumber, isPacked, skip, typeOf, typeOfScalar } from "./records.ts";

/** checkBinary counts in time slices. Throws a WireFault where a message has too many parts. */
export function* checkBinary(desc: DescMessage, bytes: Uint8Array): CooperativeTask<void> {
  // A record takes two bytes at least.
  if (bytes.length <= 2 * maxParts) return;
  try {
    yield* count(desc, bytes.length, { reader: new BinaryReader(bytes), counts: new PartCounter(), ...nothingYet });
  } catch (fault) {
    if (fault instanceof WireFault) throw fault;
  }
}

const nothingYet = { depth: 0, ofJson: 0, steps: 0 };

interface Counting {
  readonly reader: BinaryReader;
  readonly counts: PartCounter;
  depth: number;
  /** Number of records of messages that stand for free JSON. */
  ofJson: number;
  /** Number of records and items counted. */
  steps: number;
}

/** Records and items between two yields: some tenths of a millisecond. */
const stepsPerSlice = 4096;

/** A member of free JSON takes up to three records. */
const recordsOfJson = 3;

function* count(desc: DescMessage, length: number, counting: Counting): CooperativeTask<void> {
  const { reader, counts } = counting;
  const isOfJson = desc.typeName.startsWith("google.protobuf.");
  const fields = fieldsByNumber(desc);
  const end = reader.pos + length;
  if (++counting.depth > binaryOptions.recursionLimit) throw new Error("too deep to be read");
  while (reader.pos < end) {
    if (++counting.steps % stepsPerSlice === 0) yield;
    const [number, type] = reader.tag();
    const field = fields.get(number);
    if (field?.fieldKind === "list" && !field.message) yield* countItems(field, type, counting);
    else {
      if (!isOfJson || ++counting.ofJson % recordsOfJson === 0) counts.part();
      if (field?.fieldKind === "map") yield* countEntry(field, counting);
      else if (field?.message) yield* count(field.message, reader.uint32(), counting);
      else skip(reader, field ? typeOf(field) : type);
    }
  }
  counting.depth--;
}

/** countItems counts the items of a list. A packed record holds many numbers. */
function* countItems(field: DescField, type: WireType, counting: Counting): CooperativeTask<void> {
  const { reader, counts } = counting;
  const own = typeOf(field);
  const end = isPacked(field, type) ? reader.uint32() + reader.pos : reader.pos + 1;
  while (reader.pos < end) {
    if (++counting.steps % stepsPerSlice === 0) yield;
    counts.item();
    skip(reader, own);
  }
}

/** countEntry counts a map entry: the key is field 1, the value field 2. */
function* countEntry(field: DescField & { fieldKind: "map" }, counting: Counting): CooperativeTask<void> {
  const { reader, counts } = counting;
  const end = reader.uint32() + reader.pos;
  while (reader.pos < end) {
    const [number, type] = reader.tag();
    counts.item();
    if (number === 2 && field.message) yield* count(field.message, reader.uint32(), counting);
    else if (number === 2) skip(reader, typeOf(field));
    else skip(reader, number === 1 ? typeOfScalar(field.mapKey) : type);
  }
}
