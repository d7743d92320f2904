/**
 * Reads a request that is plain: a POST of HTTP/1.1 with a body of a told length, and nothing in its head that
 * asks for more than an answer. All others are for Node's own server, which knows the whole of the protocol.
 */
import { maxHeaderSize } from "node:http";
import type { Socket } from "node:net";
import type { ComingBody } from "./coming-body.ts";
import { type Fields, headEnd, lengthIn, noFields, readFields } from "./fields.ts";

/** A request as a door gets it, in the words of Node's own. */
export interface PlainRequest {
  readonly method: "POST";
  /** With its query. */
  readonly url: string;
  readonly headers: Readonly<Fields>;
  readonly httpVersionMajor: 1;
  readonly socket: Socket;
  /** All of it; of a long one, what comes. */
  readonly body: Buffer | ComingBody;
}

/** What stands before a body. */
export interface PlainHead {
  readonly url: string;
  readonly headers: Readonly<Fields>;
  /** Where the body begins, and where it ends, from the head's first byte on. */
  readonly from: number;
  readonly to: number;
}

/** What a request may be long, head and body, to be held before anybody has looked at its credential. In bytes. */
export const longestRequest = 65_536;

const start = "POST /";
const startBytes = Buffer.from(start);
const version = " HTTP/1.1";
const notInTarget = /[^\x21-\x7e]/;

/** Returns undefined for what is for somebody else, also for a head that has not come whole; most have. */
export function readHead(bytes: Buffer): PlainHead | undefined {
  if (bytes.length < startBytes.length || startBytes.compare(bytes, 0, startBytes.length) !== 0) return undefined;
  const end = bytes.indexOf(headEnd);
  if (end === -1 || end > maxHeaderSize) return undefined;
  const head = bytes.toString("latin1", 0, end);
  const lineEnd = head.indexOf("\r\n");
  const url = lineEnd === -1 ? undefined : targetIn(head, lineEnd);
  const headers = url === undefined ? undefined : plainFields(head, lineEnd + 2);
  const length = headers && lengthIn(headers["content-length"] ?? "");
  if (url === undefined || !headers || length === undefined) return undefined;
  const from = end + headEnd.length;
  return { url, headers, from, to: from + length };
}

/** Puts a request together. */
export function plainRequest({ url, headers }: PlainHead, body: Buffer | ComingBody, socket: Socket): PlainRequest {
  return { method: "POST", url, headers, httpVersionMajor: 1, socket, body };
}

function targetIn(head: string, lineEnd: number): string | undefined {
  const line = head.slice(0, lineEnd);
  if (!line.endsWith(version)) return undefined;
  const target = line.slice(start.length - 1, -version.length);
  return notInTarget.test(target) ? undefined : target;
}

/** Fields that have Node's server do more than read a body, or read it otherwise; the last it loses. */
const others: ReadonlySet<string> = new Set([
  "transfer-encoding",
  "expect",
  "upgrade",
  "trailer",
  "te",
  "http2-settings",
  "__proto__",
]);

/** Returns undefined where a field comes twice, or asks for more. */
function plainFields(head: string, from: number): Fields | undefined {
  const fields: Fields = noFields();
  let isOther = false;
  const isPlain = readFields(head, from, (name, value) => {
    if (fields[name] !== undefined || others.has(name)) isOther = true;
    fields[name] = value;
  });
  const { connection = "keep-alive", host } = fields;
  const isKept = connection === "keep-alive" || connection.toLowerCase() === "keep-alive";
  return isPlain && !isOther && isKept && host !== undefined ? fields : undefined;
}
