/**
 * Steps over the records of a protobuf message as the reader does: by the field's declared type, not by the record's
 * tag.
 */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { type BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { WireFault } from "../fault.ts";

const known = new WeakMap<DescMessage, ReadonlyMap<number, DescField>>();

export function fieldsByNumber(desc: DescMessage): ReadonlyMap<number, DescField> {
  let fields = known.get(desc);
  if (!fields) {
    fields = new Map(desc.fields.map((field) => [field.number, field]));
    known.set(desc, fields);
  }
  return fields;
}

/** skipField skips the content of a record after its tag. Throws a WireFault for a group. */
export function skipField(reader: BinaryReader, field: DescField | undefined, type: WireType): void {
  if (!field) skip(reader, type);
  else if (field.fieldKind === "map" || field.message) skip(reader, WireType.LengthDelimited);
  else skip(reader, field.fieldKind === "list" && isPacked(field, type) ? WireType.LengthDelimited : typeOf(field));
}

/** isPacked reports whether a record packs many numbers of a list. */
export function isPacked(field: DescField, type: WireType): boolean {
  return type === WireType.LengthDelimited && typeOf(field) !== WireType.LengthDelimited;
}

export function skip(reader: BinaryReader, type: WireType): void {
  // A group's content would be skipped without being counted.
  if (type === WireType.StartGroup) throw new WireFault("malformed", "it has a group, as no message of this RPC has");
  reader.skip(type);
}

export function typeOf({ enum: words, scalar }: DescField): WireType {
  return words || scalar === undefined ? WireType.Varint : typeOfScalar(scalar);
}

export function typeOfScalar(scalar: ScalarType): WireType {
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
