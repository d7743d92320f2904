/** Reads the text and the attachments of a chat message. Missing members read as empty. */
import { type ChatMessage, type ContentPart, ContentPartType } from "../../gen/modelgateway/v1/chat_pb.ts";

/** Attachments counts what a message holds besides text. */
export interface Attachments {
  readonly images: number;
  readonly sounds: number;
  readonly files: number;
}

/** textOf returns the text of a message, its text parts joined by line breaks. */
export function textOf(message: ChatMessage | undefined): string {
  if (message?.content.case === "text") return message.content.value;
  return partsOf(message)
    .map((part) => part.text ?? part.refusal)
    .filter((text) => text !== undefined)
    .join("\n");
}

function partsOf(message: ChatMessage | undefined): readonly ContentPart[] {
  return message?.content.case === "parts" ? message.content.value.parts : [];
}

export function attachmentsOf(messages: readonly ChatMessage[]): Attachments {
  const parts = messages.flatMap(partsOf);
  const count = (type: ContentPartType) => parts.filter((part) => part.type === type).length;
  return {
    images: count(ContentPartType.IMAGE_URL),
    sounds: count(ContentPartType.INPUT_AUDIO),
    files: count(ContentPartType.FILE),
  };
}
