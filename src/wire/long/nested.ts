/** Which fields of a message are read by themselves where they are long, and how what they hold is put into it. */
import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";

/** Holds one message, or a list of them. */
export type FieldOfMessages = DescField & { readonly message: DescMessage };

/** Those that come with protobuf have forms of their own. */
export function holdsMessages(field: DescField): field is FieldOfMessages {
  if (field.fieldKind !== "message" && field.fieldKind !== "list") return false;
  return field.message !== undefined && !field.message.typeName.startsWith("google.protobuf.");
}

/** Whether it holds JSON that no schema describes, which protobuf-es keeps as it is. */
export function holdsJson({ fieldKind, message }: DescField): boolean {
  return fieldKind === "message" && message?.typeName === "google.protobuf.Struct";
}

export function holdsTexts({ fieldKind, scalar }: DescField): boolean {
  return (fieldKind === "scalar" || fieldKind === "list") && scalar === ScalarType.STRING;
}

/** Returns what a field holds; undefined where it is not set. */
export function fieldValue(holder: Message, { oneof, localName }: DescField): unknown {
  const members = holder as unknown as Record<string, unknown>;
  if (!oneof) return members[localName];
  const chosen = members[oneof.localName] as { readonly case?: string; readonly value?: unknown };
  return chosen.case === localName ? chosen.value : undefined;
}

/** Puts a value into a field, behind those of its list. */
export function setField(holder: Message, { fieldKind, oneof, localName }: DescField, value: unknown): void {
  const members = holder as unknown as Record<string, unknown>;
  if (fieldKind === "list") (members[localName] as unknown[]).push(value);
  else if (oneof) members[oneof.localName] = { case: localName, value };
  else members[localName] = value;
}
