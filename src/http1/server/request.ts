/**
 * Reads a request that is plain: a POST of HTTP/1.1 with a body of a told length, and nothing in its head that
 * asks for more than an answer. All others are for Node's own server, which knows the whole of the protocol.
 */
import { maxHeaderSize } from "node:http";
import type { Socket } from "node:net";
import { emptyFields, type Fields, headEnd, parseLength, readFields } from "../fields.ts";
import type { PlacedValue } from "../known-head.ts";
import type { IncomingBody } from "./incoming-body.ts";

/** A request as a door gets it, in the words of Node's own. */
export interface PlainRequest {
  readonly method: "POST";
  /** With its query. */
  readonly url: string;
  readonly headers: Readonly<Fields>;
  /** The same object for one request after another with the very same headers, but for the length; unset for the first. */
  readonly sameHeaders: object | undefined;
  readonly httpVersionMajor: 1;
  readonly socket: Socket;
  /** The whole body, or of a long one what comes. Undefined once it is read: a request is kept as long as its answer lasts. */
  body: Buffer | IncomingBody | undefined;
}

/** What stands before a body. */
export interface PlainHead {
  readonly url: string;
  readonly headers: Readonly<Fields>;
  readonly sameHeaders: object | undefined;
  /** Where the body begins, and where it ends, from the head's first byte on. */
  readonly from: number;
  readonly to: number;
}

/** What a request may be long, head and body, to be held before anybody has looked at its credential. In bytes. */
export const maxBufferedRequest = 65_536;

const start = "POST /";
const startBytes = Buffer.from(start);
const version = " HTTP/1.1";
const notInTarget = /[^\x21-\x7e]/;

/** A head as it was read, and where the colons of its length and its credential stand. */
export interface ReadHead extends PlainHead {
  readonly headers: Fields;
  readonly lengthColon: number;
  /** Undefined where there is none. */
  readonly credential: Credential | undefined;
}

/** What says whose request it is, and by which name. */
interface Credential extends PlacedValue {
  readonly name: string;
}

/** Returns undefined for what is for somebody else, also for a head that has not come whole; most have. */
export function readHead(bytes: Buffer): ReadHead | undefined {
  if (bytes.length < startBytes.length || startBytes.compare(bytes, 0, startBytes.length) !== 0) return undefined;
  const end = bytes.indexOf(headEnd);
  if (end === -1 || end > maxHeaderSize) return undefined;
  const head = bytes.toString("latin1", 0, end);
  const lineEnd = head.indexOf("\r\n");
  const url = lineEnd === -1 ? undefined : targetIn(head, lineEnd);
  const fields = url === undefined ? undefined : plainFields(head, lineEnd + 2);
  const length = fields && parseLength(fields.headers["content-length"] ?? "");
  if (url === undefined || !fields || length === undefined) return undefined;
  const from = end + headEnd.length;
  return { url, ...fields, sameHeaders: undefined, from, to: from + length };
}

/** Puts a request together. */
export function plainRequest(head: PlainHead, body: Buffer | IncomingBody, socket: Socket): PlainRequest {
  const { url, headers, sameHeaders } = head;
  return { method: "POST", url, headers, sameHeaders, httpVersionMajor: 1, socket, body };
}

function targetIn(head: string, lineEnd: number): string | undefined {
  const line = head.slice(0, lineEnd);
  if (!line.endsWith(version)) return undefined;
  const target = line.slice(start.length - 1, -version.length);
  return notInTarget.test(target) ? undefined : target;
}

/**
 * Fields that have Node's server do more than read a body, or read it otherwise, or end the connection; it makes a list of
 * `set-cookie`, and loses the last.
 */
const others: ReadonlySet<string> = new Set([
  "transfer-encoding",
  "expect",
  "upgrade",
  "proxy-connection",
  "trailer",
  "te",
  "http2-settings",
  "set-cookie",
  "__proto__",
]);

/** Node's server refuses more than a thousand. Nobody plain has nearly as many, and each takes memory. */
const mostFields = 100;

/** Returns undefined where a field comes twice, or asks for more, or where they are too many. */
function plainFields(head: string, from: number): Pick<ReadHead, "headers" | "lengthColon" | "credential"> | undefined {
  const headers: Fields = emptyFields();
  let isOther = false;
  let lengthColon = 0;
  let credential: Credential | undefined;
  let count = 0;
  const isPlain = readFields(head, from, (name, value, colon) => {
    if (headers[name] !== undefined || others.has(name) || ++count > mostFields) isOther = true;
    headers[name] = value;
    if (name === "content-length") lengthColon = colon;
    if (name === "authorization" || name === "x-api-key") credential ??= { name, colon, value };
  });
  const { connection = "keep-alive", host } = headers;
  const isKept = connection === "keep-alive" || connection.toLowerCase() === "keep-alive";
  return isPlain && !isOther && isKept && host !== undefined ? { headers, lengthColon, credential } : undefined;
}
