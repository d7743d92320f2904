/** The length of a value as JSON text, without writing it. Forms, protobuf and base64 take fewer bytes than JSON. */
import type { JsonValue } from "@bufbuild/protobuf";
import { isExactNumber } from "./exact-number.ts";

/** jsonLength returns the length in bytes of UTF-8. Beyond `most` counting stops, and some larger number is returned. */
export function jsonLength(value: JsonValue, most: number): number {
  let length = 0;
  const add = (value: JsonValue): void => {
    if (length > most) return;
    if (typeof value === "string") length += textLength(value, most);
    else if (typeof value !== "object" || value === null || isExactNumber(value))
      length += JSON.stringify(value).length;
    else if (Array.isArray(value)) {
      // Two brackets, and a comma between each two items.
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

/** moreFor returns how many bytes beyond the first a character takes. */
function moreFor(code: number): number {
  if (code > 0x5c) return 0;
  if (code === 0x22 || code === 0x5c) return 1;
  if (code >= 0x20) return 0;
  // \b, \t, \n, \f and \r have short escapes; the others are written like \u0001.
  return code >= 0x08 && code <= 0x0d && code !== 0x0b ? 1 : 5;
}
