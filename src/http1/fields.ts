/**
 * The fields of an HTTP/1.1 message (RFC 9112, RFC 9110): read strictly, and written.
 *
 * A head that is not plainly well-formed is not read at all; the caller decides whether a more lenient parser is asked. Heads are
 * Latin-1 text, up to their empty line and without it.
 */
import { STATUS_CODES } from "node:http";

/** Fields by their lower-case names. */
export type Fields = Record<string, string>;

/**
 * emptyFields creates an object for fields that are to be read. It has no prototype, so that no field is found that has not come. V8 keeps
 * such an object as a dictionary, so that new names do not cause code to be compiled again.
 */
export function emptyFields<V = string>(): Record<string, V> {
  return Object.create(null) as Record<string, V>;
}

export const headEnd = Buffer.from("\r\n\r\n");

const lineEnd = "\r\n";
const forbiddenInName = /[^!#$%&'*+.^_`|~0-9A-Za-z-]/;
const forbiddenInValue = /[^\t\x20-\x7e\x80-\xff]/;

/** A field name: as it is written, with its colon, and in lower case. */
interface Name {
  readonly written: string;
  readonly name: string;
}

/**
 * The names that have come before, as most clients send the same ones in each request. The key is made of length and first
 * character, so that a name is looked up without being cut out of the head.
 */
const names = new Map<number, Name[]>();
let namesKept = 0;
const maxNames = 1000;
/** Longer names are not remembered, in bytes. */
const maxNameBytes = 40;
/** maxAlike is how many names of the same length and first character are remembered. */
const maxAlike = 16;

/**
 * readFields reads the fields of a head from position `from` on. Calls `add` with each, and with the position of its colon. Returns false
 * for a malformed field: a folded line, or a name or value with forbidden characters.
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
    if (name === undefined || forbiddenInValue.test(value)) return false;
    add(name, value, colon);
    at = to + lineEnd.length;
  }
  return true;
}

function nameIn(head: string, from: number, colon: number): string | undefined {
  const length = colon - from;
  const place = length * 128 + (head.charCodeAt(from) & 127);
  const alike = length > maxNameBytes ? undefined : names.get(place);
  if (alike) for (const { written, name } of alike) if (head.startsWith(written, from)) return name;
  const written = head.slice(from, colon);
  if (forbiddenInName.test(written)) return undefined;
  const name = written.toLowerCase();
  if (length <= maxNameBytes) remember(place, { written: `${written}:`, name });
  return name;
}

/** Remembers a name. Clients may send any name, so the memory is bounded, and emptied when it is full. */
function remember(place: number, name: Name): void {
  if (namesKept >= maxNames) {
    names.clear();
    namesKept = 0;
  }
  const alike = names.get(place) ?? [];
  if (alike.length === maxAlike) {
    namesKept -= alike.length;
    alike.length = 0;
  }
  alike.push(name);
  names.set(place, alike);
  namesKept++;
}

/** valueIn returns the text between two positions, without spaces and tabs around it. */
function valueIn(head: string, from: number, to: number): string {
  let [first, last] = [from, to];
  while (first < last && isSpace(head.charCodeAt(first))) first++;
  while (last > first && isSpace(head.charCodeAt(last - 1))) last--;
  return head.slice(first, last);
}

/** isFieldValue reports that a text is a field value as it stands: not empty, no space around it, no forbidden characters. */
export function isFieldValue(text: string): boolean {
  const isAround = isSpace(text.charCodeAt(0)) || isSpace(text.charCodeAt(text.length - 1));
  return text !== "" && !isAround && !forbiddenInValue.test(text);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** writeFields writes fields, each on a line. Throws TypeError for a value with forbidden characters. */
export function writeFields(fields: Readonly<Fields>): string {
  let text = "";
  for (const name in fields) {
    const value = fields[name] as string;
    checkFieldValue(name, value);
    text += `${name}: ${value}${lineEnd}`;
  }
  return text;
}

/** checkFieldValue throws TypeError for a value with forbidden characters. */
export function checkFieldValue(name: string, value: string): void {
  if (forbiddenInValue.test(value)) throw new TypeError(`the field ${name} has characters that none may have`);
}

const ok = "HTTP/1.1 200 OK";

/** statusLine writes a status line without its end. Throws RangeError for an invalid status. */
export function statusLine(status: number): string {
  if (status === 200) return ok;
  if (!Number.isInteger(status) || status < 100 || status > 599) throw new RangeError("no status of HTTP");
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`;
}

/** parseLength parses a `content-length`. Returns undefined for anything but digits, and for a number that is not counted exactly. */
export function parseLength(value: string): number | undefined {
  return /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}
