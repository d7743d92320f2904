/**
 * Counts what a protobuf message holds before it is read: two bytes of it may be a message of its own, which costs a thousand
 * times as much. The bounds are those of JSON.
 *
 * It goes the way that the reader goes, record by record. What the reader cannot read is left to it, to refuse where the count
 * ends.
 */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { Counts, maxParts } from "./bounds.ts";
import { WireFault } from "./fault.ts";
import { binaryOptions } from "./json.ts";

/** Throws a WireFault where a message has more than is read. */
export function checkBinary(desc: DescMessage, bytes: Uint8Array): void {
  // A record takes two bytes at least.
  if (bytes.length <= 2 * maxParts) return;
  try {
    count(desc, bytes.length, { reader: new BinaryReader(bytes), counts: new Counts(), depth: 0, ofJson: 0 });
  } catch (fault) {
    if (fault instanceof WireFault) throw fault;
  }
}

interface Counting {
  readonly reader: BinaryReader;
  readonly counts: Counts;
  depth: number;
  /** Records of messages that stand for JSON which no schema describes. */
  ofJson: number;
}

/** Such JSON takes up to three records for a member. */
const recordsOfJson = 3;

function count(desc: DescMessage, length: number, counting: Counting): void {
  const { reader, counts } = counting;
  const isOfJson = desc.typeName.startsWith("google.protobuf.");
  const fields = fieldsOf(desc);
  const end = reader.pos + length;
  if (++counting.depth > binaryOptions.recursionLimit) throw new Error("too deep to be read");
  while (reader.pos < end) {
    const [number, type] = reader.tag();
    const field = fields.get(number);
    if (field?.fieldKind === "list" && !field.message) countItems(field, type, counting);
    else {
      if (!isOfJson || ++counting.ofJson % recordsOfJson === 0) counts.part();
      if (field?.fieldKind === "map") countEntry(field, counting);
      else if (field?.message) count(field.message, reader.uint32(), counting);
      else skip(reader, field ? typeOf(field) : type);
    }
  }
  counting.depth--;
}

/** Numbers may stand behind one another in one record. */
function countItems(field: DescField, type: WireType, { reader, counts }: Counting): void {
  const own = typeOf(field);
  const isPacked = type === WireType.LengthDelimited && own !== WireType.LengthDelimited;
  const end = isPacked ? reader.uint32() + reader.pos : reader.pos + 1;
  while (reader.pos < end) {
    counts.item();
    skip(reader, own);
  }
}

/** An entry of a map has its key in field 1 and its value in field 2. */
function countEntry(field: DescField & { fieldKind: "map" }, counting: Counting): void {
  const { reader, counts } = counting;
  const end = reader.uint32() + reader.pos;
  while (reader.pos < end) {
    const [number, type] = reader.tag();
    counts.item();
    if (number === 2 && field.message) count(field.message, reader.uint32(), counting);
    else if (number === 2) skip(reader, typeOf(field));
    else skip(reader, number === 1 ? typeOfScalar(field.mapKey) : type);
  }
}

function skip(reader: BinaryReader, type: WireType): void {
  // What stands in one is skipped without a count.
  if (type === WireType.StartGroup) throw new WireFault("malformed", "it has a group, as no message of this RPC has");
  reader.skip(type);
}

function typeOf({ enum: words, scalar }: DescField): WireType {
  return words || scalar === undefined ? WireType.Varint : typeOfScalar(scalar);
}

function typeOfScalar(scalar: ScalarType): WireType {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
  }
  return WireType.Varint;
}

const known = new WeakMap<DescMessage, ReadonlyMap<number, DescField>>();

function fieldsOf(desc: DescMessage): ReadonlyMap<number, DescField> {
  let fields = known.get(desc);
  if (!fields) {
    fields = new Map(desc.fields.map((field) => [field.number, field]));
    known.set(desc, fields);
  }
  return fields;
}
