/**
 * The head of a message of HTTP/1.1 (RFC 9112, RFC 9110): read strictly, and written.
 *
 * What is not plainly so is not read at all: who reads decides whether somebody more lenient is asked. Heads are text of one
 * byte a character (Latin-1), up to their empty line and without it.
 */
import { STATUS_CODES } from "node:http";

/** Fields by their lower-case names. */
export type Fields = Record<string, string>;

/**
 * Makes a place for fields as they are read. What every object has is no field; and without a prototype it is a dictionary
 * from the start, whatever names come in whatever order: code that has seen others is not compiled anew for it.
 */
export function emptyFields<V = string>(): Record<string, V> {
  return Object.create(null) as Record<string, V>;
}

export const headEnd = Buffer.from("\r\n\r\n");

const lineEnd = "\r\n";
const notInName = /[^!#$%&'*+.^_`|~0-9A-Za-z-]/;
const notInValue = /[^\t\x20-\x7e\x80-\xff]/;

/** A name as it is written, with its colon, and in lower case. */
interface Name {
  readonly written: string;
  readonly name: string;
}

/**
 * Names as they came: most clients send the same ones in each request. They stand by their length and first character, so
 * that a name is found in a head without being taken out of it.
 */
const names = new Map<number, Name[]>();
let namesKept = 0;
const mostNames = 1000;
const longestName = 40;
/** Of names that share length and first character, how many are kept. */
const mostAlike = 16;

/**
 * Reads the lines of a head from a place on. Calls `add` with each field, and with where its colon stands. Returns false for
 * what is no plain field: a line that is folded, a name or a value with characters that none has.
 */
export function readFields(
  head: string,
  from: number,
  add: (name: string, value: string, colon: number) => void,
): boolean {
  for (let at = from; at < head.length; ) {
    const found = head.indexOf(lineEnd, at);
    const to = found === -1 ? head.length : found;
    const colon = head.indexOf(":", at);
    if (colon <= at || colon >= to) return false;
    const name = nameIn(head, at, colon);
    const value = valueIn(head, colon + 1, to);
    if (name === undefined || notInValue.test(value)) return false;
    add(name, value, colon);
    at = to + lineEnd.length;
  }
  return true;
}

function nameIn(head: string, from: number, colon: number): string | undefined {
  const length = colon - from;
  const place = length * 128 + (head.charCodeAt(from) & 127);
  const alike = length > longestName ? undefined : names.get(place);
  if (alike) for (const { written, name } of alike) if (head.startsWith(written, from)) return name;
  const written = head.slice(from, colon);
  if (notInName.test(written)) return undefined;
  const name = written.toLowerCase();
  if (length <= longestName) remember(place, { written: `${written}:`, name });
  return name;
}

/** Anybody may send any name: what is remembered is bounded, and made anew where it is full. */
function remember(place: number, name: Name): void {
  if (namesKept >= mostNames) {
    names.clear();
    namesKept = 0;
  }
  const alike = names.get(place) ?? [];
  if (alike.length === mostAlike) {
    namesKept -= alike.length;
    alike.length = 0;
  }
  alike.push(name);
  names.set(place, alike);
  namesKept++;
}

/** Returns what stands between two places, without the space and tabs around it. */
function valueIn(head: string, from: number, to: number): string {
  let [first, last] = [from, to];
  while (first < last && isSpace(head.charCodeAt(first))) first++;
  while (last > first && isSpace(head.charCodeAt(last - 1))) last--;
  return head.slice(first, last);
}

/** Whether this is what is read of a value, as it stands: no space around it, and no characters that none may have. */
export function isFieldValue(text: string): boolean {
  const isAround = isSpace(text.charCodeAt(0)) || isSpace(text.charCodeAt(text.length - 1));
  return text !== "" && !isAround && !notInValue.test(text);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** Writes fields, each on its line. Throws TypeError for a value with characters that none has. */
export function writeFields(fields: Readonly<Fields>): string {
  let text = "";
  for (const name in fields) {
    const value = fields[name] as string;
    checkFieldValue(name, value);
    text += `${name}: ${value}${lineEnd}`;
  }
  return text;
}

/** Throws TypeError for a value with characters that none has. */
export function checkFieldValue(name: string, value: string): void {
  if (notInValue.test(value)) throw new TypeError(`the field ${name} has characters that none may have`);
}

const ok = "HTTP/1.1 200 OK";

/** Writes the status line without its end. Throws RangeError for what is no status. */
export function statusLine(status: number): string {
  if (status === 200) return ok;
  if (!Number.isInteger(status) || status < 100 || status > 599) throw new RangeError("no status of HTTP");
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`;
}

/** Returns a length as it is written in a head; undefined for what is none, or none that is counted exactly. */
export function parseLength(value: string): number | undefined {
  return /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}
