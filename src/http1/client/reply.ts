/** The head of a reply, read strictly (RFC 9112): its status, its fields, and how its body ends. */
import { ChunkedDecoder } from "../chunked.ts";
import { emptyFields, parseLength, readFields } from "../fields.ts";
import type { ReplyFields } from "./contract.ts";

export interface ReplyHead {
  readonly status: number;
  readonly fields: Record<string, string | string[]>;
  /** Reports a reply of HTTP/1.0. */
  readonly isOld: boolean;
  /** keptMs is how long the server keeps the connection after the reply, in milliseconds; 0 if it closes it. */
  readonly keptMs: number;
  /** The position of the colon of `content-length`; undefined if there is none, or several. */
  readonly lengthColon: number | undefined;
}

/** defaultKeepMs is how long an idle connection is kept if the server does not say. */
export const defaultKeepMs = 4_000;
/** A connection is given up this long before the server closes it, by what the server says. */
const keepMarginMs = 1_000;
const maxKeepMs = 600_000;

/** Framing is how a body ends: after so many bytes that are left, with its last chunk, or with the connection. */
export type Framing = number | ChunkedDecoder | "close";

/** readReplyHead reads a head. Throws an Error for a malformed one. */
export function readReplyHead(head: string): ReplyHead {
  const end = head.indexOf("\r\n");
  const line = end === -1 ? head : head.slice(0, end);
  const [, minor, digits] = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/.exec(line) ?? [];
  if (digits === undefined) throw malformed("it does not begin with a status");
  const fields = emptyFields<string | string[]>();
  let lengthColon: number | undefined;
  const isPlain = readFields(head, end === -1 ? head.length : end + 2, (name, value, colon) => {
    const known = fields[name];
    if (name === "content-length") lengthColon = known === undefined ? colon : undefined;
    if (known === undefined) fields[name] = value;
    else if (typeof known === "string") fields[name] = [known, value];
    else known.push(value);
  });
  if (!isPlain) throw malformed("a field of its head is none");
  const isOld = minor === "0";
  return { status: Number(digits), fields, isOld, keptMs: keptMsOf(fields, isOld), lengthColon };
}

/** A connection is not kept if `close` stands anywhere, in any case: some servers write it into malformed lists. */
function keptMsOf({ connection = "", "keep-alive": kept = "" }: ReplyFields, isOld: boolean): number {
  const options = String(connection).toLowerCase();
  const isKept = !options.includes("close") && (!isOld || /(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/.test(options));
  const seconds = /timeout=(\d{1,6})/.exec(String(kept))?.[1];
  const serversMs = seconds === undefined ? defaultKeepMs : Number(seconds) * 1000 - keepMarginMs;
  return isKept ? Math.max(0, Math.min(serversMs, maxKeepMs)) : 0;
}

/** hasNoBody reports that replies of this status end with their head (RFC 9112, section 6.3, rule 1). Neither HEAD nor CONNECT is sent. */
export function hasNoBody(status: number): boolean {
  return status < 200 || status === 204 || status === 304;
}

/** announcesBody reports that a head announces a body. */
export function announcesBody({ fields }: ReplyHead): boolean {
  const { "transfer-encoding": coding, "content-length": length } = fields;
  return coding !== undefined || (length !== undefined && length !== "0");
}

const beginning = Buffer.from("HTTP/1.");

/** checkBeginning throws an Error for bytes that no head begins with, so that their end is not waited for. */
export function checkBeginning(bytes: Buffer): void {
  const length = Math.min(bytes.length, beginning.length);
  if (beginning.compare(bytes, 0, length, 0, length) !== 0)
    throw malformed("it does not begin as one of HTTP/1.1 does");
  for (let at = bytes.indexOf("\n"); at !== -1; at = bytes.indexOf("\n", at + 1))
    if (bytes[at - 1] !== 0x0d) throw malformed("its lines do not end as lines do");
}

/**
 * framingOf returns how the body ends (RFC 9112, section 6.3). Throws an Error where two rules give different ends, even if the status has
 * no body. `readLength` is the value of `content-length`, if it has been parsed already.
 */
export function framingOf({ status, fields, isOld }: ReplyHead, readLength?: number): Framing {
  const { "transfer-encoding": coding, "content-length": length } = fields;
  if (coding !== undefined && length !== undefined) throw malformed("it has a length and a coding");
  const bytes = readLength ?? (typeof length === "string" ? parseLength(length) : undefined);
  if (length !== undefined && bytes === undefined) throw malformed("its length is none");
  if (hasNoBody(status)) return 0;
  if (coding === undefined) return bytes ?? "close";
  // HTTP/1.0 has no chunks, and no other coding was asked for.
  if (isOld || String(coding).toLowerCase() !== "chunked") throw malformed("how its body is coded is not known");
  return new ChunkedDecoder();
}

/** maxInterimReplies is how many interim replies (103) may precede a reply. Some servers send one or two. */
const maxInterimReplies = 32;

/**
 * checkInterim throws an Error for an interim reply that cannot be dropped. `count` says how many have come before the reply, with this
 * one.
 */
export function checkInterim(head: ReplyHead, count: number): void {
  if (head.status === 101) throw malformed("it changed to another protocol");
  // Its body would be taken for the reply.
  if (announcesBody(head)) throw malformed("an interim answer announces a body");
  if (count > maxInterimReplies) throw malformed("too many interim answers come before it");
}

/** malformed creates the error for a reply that is not well-formed. */
export function malformed(words: string): Error {
  return new Error(`the answer is not understood: ${words}`);
}
