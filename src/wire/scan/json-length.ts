/** How long a value is as JSON text, found out without writing it: forms, protobuf and base64 say the same in fewer bytes. */
import type { JsonValue } from "@bufbuild/protobuf";

/** Of UTF-8, in bytes. Beyond `most` it is not counted on: some number larger than that is returned. */
export function jsonLength(value: JsonValue, most: number): number {
  let length = 0;
  const add = (value: JsonValue): void => {
    if (length > most) return;
    if (typeof value === "string") length += textLength(value, most);
    else if (typeof value !== "object" || value === null) length += JSON.stringify(value).length;
    else if (Array.isArray(value)) {
      // Two brackets, and a comma less than there are items.
      length += Math.max(2, value.length + 1);
      for (const item of value) add(item);
    } else {
      const keys = Object.keys(value);
      length += Math.max(2, keys.length + 1);
      for (const key of keys) {
        length += textLength(key, most) + 1;
        add(value[key] as JsonValue);
      }
    }
  };
  add(value);
  return length;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is written in more bytes.
const escaped = /["\\\u0000-\u001f]/;

function textLength(text: string, most: number): number {
  let length = 2 + Buffer.byteLength(text);
  if (!escaped.test(text)) return length;
  for (let at = 0; at < text.length && length <= most; at++) length += moreFor(text.charCodeAt(at));
  return length;
}

/** How many bytes more than one the character is written in. */
function moreFor(code: number): number {
  if (code > 0x5c) return 0;
  if (code === 0x22 || code === 0x5c) return 1;
  if (code >= 0x20) return 0;
  // \b, \t, \n, \f and \r have a letter of their own; the others are written as \u0001.
  return code >= 0x08 && code <= 0x0d && code !== 0x0b ? 1 : 5;
}
