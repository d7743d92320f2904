/**
 * A vendor's signed thinking ↔ the text in `encrypted_content`, which callers send back unread.
 *
 * It is neither secret nor encrypted: the vendor trusts the signature inside. Another server's text is not
 * understood.
 */
import { type JsonValue, parsedJson } from "../../wire/json.ts";

const mark = "thinking:";

export function sealed(blocks: readonly JsonValue[]): string {
  return mark + Buffer.from(JSON.stringify(blocks)).toString("base64url");
}

export function unsealed(text: string): JsonValue[] | undefined {
  if (!text.startsWith(mark)) return undefined;
  const blocks = parsedJson(Buffer.from(text.slice(mark.length), "base64url").toString());
  return Array.isArray(blocks) ? blocks : undefined;
}
