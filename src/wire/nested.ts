/** Which fields of a message hold messages that can be read by themselves, and how they are put into it. */
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";

/** Holds one message, or a list of them. */
export type FieldOfMessages = DescField & { readonly message: DescMessage };

/** Those that come with protobuf have forms of their own. */
export function holdsMessages(field: DescField): field is FieldOfMessages {
  if (field.fieldKind !== "message" && field.fieldKind !== "list") return false;
  return field.message !== undefined && !isWellKnown(field.message);
}

function isWellKnown({ typeName }: DescMessage): boolean {
  return typeName.startsWith("google.protobuf.");
}

/** Puts a message into a field, behind those of its list. Where one may stand there and does, that one is returned. */
export function hold(holder: Message, field: FieldOfMessages, make: () => Message): Message {
  const members = holder as unknown as Record<string, unknown>;
  if (field.fieldKind === "list") {
    const item = make();
    (members[field.localName] as Message[]).push(item);
    return item;
  }
  const { oneof, localName } = field;
  if (!oneof) {
    members[localName] ??= make();
    return members[localName] as Message;
  }
  const chosen = members[oneof.localName] as { readonly case?: string; readonly value?: unknown };
  if (chosen.case === localName) return chosen.value as Message;
  const value = make();
  members[oneof.localName] = { case: localName, value };
  return value;
}
