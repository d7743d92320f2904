/** The records of a protobuf message as its reader goes over them: by what a field is, and not by what its record says. */
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

/** Goes over what stands behind the tag of a record. Throws a WireFault for a group. */
export function skipField(reader: BinaryReader, field: DescField | undefined, type: WireType): void {
  if (!field) skip(reader, type);
  else if (field.fieldKind === "map" || field.message) skip(reader, WireType.LengthDelimited);
  else skip(reader, field.fieldKind === "list" && isPacked(field, type) ? WireType.LengthDelimited : typeOf(field));
}

/** Whether numbers of a list stand behind one another in one record. */
export function isPacked(field: DescField, type: WireType): boolean {
  return type === WireType.LengthDelimited && typeOf(field) !== WireType.LengthDelimited;
}

export function skip(reader: BinaryReader, type: WireType): void {
  // What stands in one is skipped without a count.
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
