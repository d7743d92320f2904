/** The head of an answer, read strictly (RFC 9112): its status, its fields, and how its body ends. */
import { ChunkedDecoder } from "../chunked.ts";
import { emptyFields, parseLength, readFields } from "../fields.ts";
import type { ReplyFields } from "./contract.ts";

export interface ReplyHead {
  readonly status: number;
  readonly fields: Record<string, string | string[]>;
  /** Whether it is of HTTP/1.0. */
  readonly isOld: boolean;
  /** How long its connection is kept after the answer, in milliseconds; 0 where it is not. */
  readonly keptMs: number;
  /** Where the colon of its length stands; undefined where it tells none, or several. */
  readonly lengthColon: number | undefined;
}

/** How long a connection is kept that nobody uses, where the server does not say. */
export const usuallyKeptMs = 4_000;
/** A server that says how long it keeps one may be a little quicker than its word. */
const earlierMs = 1_000;
const longestKeptMs = 600_000;

/** How the end of a body is told: by a length, by chunks, by the connection's end. */
export type Framing = number | ChunkedDecoder | "close";

/** Throws an Error for what is no head. */
export function readReplyHead(head: string): ReplyHead {
  const end = head.indexOf("\r\n");
  const line = end === -1 ? head : head.slice(0, end);
  const [, minor, digits] = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/.exec(line) ?? [];
  if (digits === undefined) throw notUnderstood("it does not begin with a status");
  const fields = emptyFields<string | string[]>();
  let lengthColon: number | undefined;
  const isPlain = readFields(head, end === -1 ? head.length : end + 2, (name, value, colon) => {
    const known = fields[name];
    if (name === "content-length") lengthColon = known === undefined ? colon : undefined;
    if (known === undefined) fields[name] = value;
    else if (typeof known === "string") fields[name] = [known, value];
    else known.push(value);
  });
  if (!isPlain) throw notUnderstood("a field of its head is none");
  const isOld = minor === "0";
  return { status: Number(digits), fields, isOld, keptMs: keptMsOf(fields, isOld), lengthColon };
}

/** Where `close` stands in any spelling it is not kept: some servers write it into lists that are none. */
function keptMsOf({ connection = "", "keep-alive": kept = "" }: ReplyFields, isOld: boolean): number {
  const options = String(connection).toLowerCase();
  const isKept = !options.includes("close") && (!isOld || /(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/.test(options));
  const seconds = /timeout=(\d{1,6})/.exec(String(kept))?.[1];
  const told = seconds === undefined ? usuallyKeptMs : Number(seconds) * 1000 - earlierMs;
  return isKept ? Math.max(0, Math.min(told, longestKeptMs)) : 0;
}

/** Whether answers of this status end with their head (RFC 9112, section 6.3, rule 1). Neither HEAD nor CONNECT is sent. */
export function hasNoBody(status: number): boolean {
  return status < 200 || status === 204 || status === 304;
}

/** Whether a head says that a body follows. */
export function announcesBody({ fields }: ReplyHead): boolean {
  const { "transfer-encoding": coding, "content-length": length } = fields;
  return coding !== undefined || (length !== undefined && length !== "0");
}

const beginning = Buffer.from("HTTP/1.");

/** Throws an Error for what will never be a head, however it goes on: nobody need wait for its end. */
export function checkBeginning(bytes: Buffer): void {
  const length = Math.min(bytes.length, beginning.length);
  if (beginning.compare(bytes, 0, length, 0, length) !== 0)
    throw notUnderstood("it does not begin as one of HTTP/1.1 does");
  for (let at = bytes.indexOf("\n"); at !== -1; at = bytes.indexOf("\n", at + 1))
    if (bytes[at - 1] !== 0x0d) throw notUnderstood("its lines do not end as lines do");
}

/**
 * Where two rules would tell other ends, none is followed, also where the status has no body: RFC 9112, section 6.3. `readLength`
 * is the length that the head tells, where that has been read already.
 */
export function framingOf({ status, fields, isOld }: ReplyHead, readLength?: number): Framing {
  const { "transfer-encoding": coding, "content-length": length } = fields;
  if (coding !== undefined && length !== undefined) throw notUnderstood("it tells a length and a coding");
  const bytes = readLength ?? (typeof length === "string" ? parseLength(length) : undefined);
  if (length !== undefined && bytes === undefined) throw notUnderstood("its length is none");
  if (hasNoBody(status)) return 0;
  if (coding === undefined) return bytes ?? "close";
  // What HTTP/1.0 has no chunks for, and what nobody asked for.
  if (isOld || String(coding).toLowerCase() !== "chunked") throw notUnderstood("how its body is coded is not known");
  return new ChunkedDecoder();
}

/** How many interim answers (103) may come before an answer: nobody waits for them, and some servers send one or two. */
const mostInterim = 32;

/**
 * Throws an Error for an interim answer that is not passed over, the `count`th before its answer. What it says nobody waits
 * for, and it buys the server no time.
 */
export function checkInterim(head: ReplyHead, count: number): void {
  if (head.status === 101) throw notUnderstood("it changed to another protocol");
  // Its body would be taken for the answer.
  if (announcesBody(head)) throw notUnderstood("an interim answer announces a body");
  if (count > mostInterim) throw notUnderstood("too many interim answers come before it");
}

export function notUnderstood(words: string): Error {
  return new Error(`the answer is not understood: ${words}`);
}
