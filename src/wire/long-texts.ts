/**
 * Reads JSON but for its long plain texts, as images in base64 are: in what is read stand others of their length. What is said
 * around them is seen at a fraction of the cost, for long texts are large pieces of memory that somebody has to get and give back.
 *
 * A text is passed over only where it is sure to be one, and to be well written: ASCII without escapes, between two quotes.
 */
import { isAscii, isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";
import { hasTooManyParts, type JsonValue } from "./json.ts";

/** What is shorter is read at once. */
const leastJson = 64 * 1024;
/** What has to stand between two quotes to be a long text, in bytes. */
const leastText = 32 * 1024;

const quote = 0x22;
const backslash = 0x5c;
const spaces = 0x20202020;

/** Where a text stands. */
interface Place {
  readonly from: number;
  readonly to: number;
}

/** Stands where a text was left out, with its number behind it up to the closing quote. Nobody knows it, so nobody says it. */
const mark = randomBytes(16).toString("hex");

/**
 * Returns the value; undefined where nothing is passed over: where no text is long, or one is a key, or a member that is said
 * twice, or where the bytes are no JSON that is read.
 */
export function readPastLongTexts(bytes: Buffer): JsonValue | undefined {
  if (bytes.length < leastJson || !isUtf8(bytes)) return undefined;
  const places = longTexts(bytes);
  if (places.length === 0 || hasTooManyParts(bytes)) return undefined;
  try {
    const json = JSON.parse(textWithout(bytes, places)) as JsonValue;
    return filledIn(
      json,
      places.map(({ from, to }) => filler(to - from)),
    );
  } catch {
    return undefined;
  }
}

/** Finds long stretches between two quotes. Of one that is in no text the parser finds out: it has a mark where none may be. */
function longTexts(bytes: Buffer): Place[] {
  const places: Place[] = [];
  for (let at = leastText; at < bytes.length; at += leastText) {
    const from = bytes.lastIndexOf(quote, at) + 1;
    const to = bytes.indexOf(quote, at);
    if (from === 0 || to === -1) break;
    if (to - from >= leastText && isPlain(bytes.subarray(from, to))) places.push({ from, to });
    at = Math.max(at, to);
  }
  return places;
}

/** Whether a text stands in its JSON as it is. */
function isPlain(text: Buffer): boolean {
  return isAscii(text) && !text.includes(backslash) && !hasControls(text);
}

/**
 * Whether a text has characters below the space, which JSON does not allow. It is ASCII: sixteen bytes are looked at in a step,
 * four at once.
 */
function hasControls(text: Buffer): boolean {
  const view = new DataView(text.buffer, text.byteOffset, text.length);
  const rest = text.length - (text.length % 16);
  // What is below the space has its highest bit set then; a higher byte that a borrow reaches has one below it that has.
  let differences = 0;
  for (let at = 0; at < rest; at += 16) {
    differences |= view.getInt32(at, true) - spaces;
    differences |= view.getInt32(at + 4, true) - spaces;
    differences |= view.getInt32(at + 8, true) - spaces;
    differences |= view.getInt32(at + 12, true) - spaces;
  }
  return (differences & 0x80808080) !== 0 || text.subarray(rest).some((byte) => byte < 0x20);
}

function textWithout(bytes: Buffer, places: readonly Place[]): string {
  let text = "";
  let kept = 0;
  for (const [i, { from, to }] of places.entries()) {
    text += bytes.toString("utf8", kept, from) + mark + i;
    kept = to;
  }
  return text + bytes.toString("utf8", kept);
}

const block = "-".repeat(leastText);

/** Makes a text of this length out of one that is there; nothing is copied. */
function filler(length: number): string {
  return block.repeat(Math.floor(length / block.length)) + block.slice(0, length % block.length);
}

/** Puts texts in the places of those that were left out. Returns undefined unless each place is found. */
function filledIn(json: JsonValue, texts: readonly string[]): JsonValue | undefined {
  let missing = texts.length;
  const fill = (value: JsonValue): JsonValue => {
    if (typeof value === "string") {
      const at = value.indexOf(mark);
      return at === -1 ? value : filled(value, at);
    }
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) for (let i = 0; i < value.length; i++) value[i] = fill(value[i] as JsonValue);
    else for (const key of Object.keys(value)) value[key] = fill(value[key] as JsonValue);
    return value;
  };
  const filled = (value: string, at: number) => {
    missing--;
    return value.slice(0, at) + texts[Number(value.slice(at + mark.length))];
  };
  const value = fill(json);
  return missing === 0 ? value : undefined;
}
