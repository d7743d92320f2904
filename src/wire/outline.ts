/**
 * Reads JSON but for the numbers of its vectors, which stand as empty lists in what is read: what is said around them is
 * seen at a fraction of the cost.
 *
 * A list is passed over only where it is sure to be one: it follows its key, which no text can hold with both its quotes and
 * a colon behind, and nothing stands in it but numbers. Whether each is well written, and none is missing, is not looked at.
 */
import { isUtf8 } from "node:buffer";
import type { JsonValue } from "./json.ts";
import { skipSpace } from "./splice.ts";

/** The key of a vector, as it is written. */
const key = Buffer.from('"embedding"');

const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/**
 * What some other value has that may stand in a list: a text, a list, an object, and each of the words `null`, `true`, `false`,
 * `NaN` and `Infinity`, in whatever case. To look at every byte would take as long as reading the numbers, and each of these
 * costs a look at the whole list.
 */
const others = Array.from('"[}nauNAU', (character) => character.charCodeAt(0));

/** Returns the value with its vectors left empty; undefined where none can be passed over, or the text is no JSON. */
export function readOutline(bytes: Buffer): JsonValue | undefined {
  let at = bytes.indexOf(key);
  if (at === -1 || !isUtf8(bytes)) return undefined;
  let text = "";
  let kept = 0;
  for (; at !== -1; at = bytes.indexOf(key, at)) {
    at += key.length;
    const from = listAt(bytes, at);
    const to = from === undefined ? -1 : bytes.indexOf(closeBracket, from);
    if (from === undefined || to === -1 || !isOfNumbers(bytes.subarray(from, to))) continue;
    text += bytes.toString("utf8", kept, from);
    kept = to;
    at = to;
  }
  return kept === 0 ? undefined : parsed(text + bytes.toString("utf8", kept));
}

/** Returns where the list begins whose key ends here. */
function listAt(bytes: Buffer, keyEnd: number): number | undefined {
  const separator = skipSpace(bytes, keyEnd);
  if (bytes[separator] !== colon) return undefined;
  const opening = skipSpace(bytes, separator + 1);
  return bytes[opening] === openBracket ? opening + 1 : undefined;
}

function isOfNumbers(list: Buffer): boolean {
  for (const other of others) if (list.includes(other)) return false;
  return true;
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
