/** Fields whose content is read separately where it is long, and how that content is set. */
import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";

/** FieldOfMessages holds one message, or a list of them. */
export type FieldOfMessages = DescField & { readonly message: DescMessage };

/** holdsMessages reports whether a field holds messages of ours. The well-known types of protobuf have readers of their own. */
export function holdsMessages(field: DescField): field is FieldOfMessages {
  if (field.fieldKind !== "message" && field.fieldKind !== "list") return false;
  return field.message !== undefined && !field.message.typeName.startsWith("google.protobuf.");
}

/** holdsJson reports whether a field holds free JSON, which protobuf-es keeps as it is. */
export function holdsJson({ fieldKind, message }: DescField): boolean {
  return fieldKind === "message" && message?.typeName === "google.protobuf.Struct";
}

export function holdsTexts({ fieldKind, scalar }: DescField): boolean {
  return (fieldKind === "scalar" || fieldKind === "list") && scalar === ScalarType.STRING;
}

/** fieldValue returns the value of a field; undefined where it is unset. */
export function fieldValue(holder: Message, { oneof, localName }: DescField): unknown {
  const members = holder as unknown as Record<string, unknown>;
  if (!oneof) return members[localName];
  const chosen = members[oneof.localName] as { readonly case?: string; readonly value?: unknown };
  return chosen.case === localName ? chosen.value : undefined;
}

/** setField sets a field; of a list, appends to it. */
export function setField(holder: Message, { fieldKind, oneof, localName }: DescField, value: unknown): void {
  const members = holder as unknown as Record<string, unknown>;
  if (fieldKind === "list") (members[localName] as unknown[]).push(value);
  else if (oneof) members[oneof.localName] = { case: localName, value };
  else members[localName] = value;
}
