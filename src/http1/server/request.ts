/**
 * Reads plain requests: POSTs of HTTP/1.1 with a `content-length`, and nothing in their heads that asks for more than an answer.
 * All others are for Node's server, which knows the whole protocol.
 */
import { maxHeaderSize } from "node:http";
import type { Socket } from "node:net";
import { isHostField } from "../../runtime/net/host-field.ts";
import { emptyFields, type Fields, headEnd, parseLength, readFields } from "../fields.ts";
import type { PlacedValue } from "../known-head.ts";
import type { IncomingBody } from "./incoming-body.ts";

/** A request as a door gets it. Node's requests have the same members, but for `body` and `sameHeaders`. */
export interface PlainRequest {
  readonly method: "POST";
  /** With its query. */
  readonly url: string;
  readonly headers: Readonly<Fields>;
  /** The same object for each request in a row with the same headers, the length aside. Undefined for the first. */
  readonly sameHeaders: object | undefined;
  readonly httpVersionMajor: 1;
  readonly socket: Socket;
  /** The body, or a long one that still comes. Undefined once it was read, as the request is kept for as long as its answer lasts. */
  body: Buffer | IncomingBody | undefined;
}

/** The head of a request. */
export interface PlainHead {
  readonly url: string;
  readonly headers: Readonly<Fields>;
  readonly sameHeaders: object | undefined;
  /** The positions where the body begins and ends, from the first byte of the head. */
  readonly from: number;
  readonly to: number;
}

/** The most bytes of a request, head and body, that are buffered before its credential is checked. */
export const maxBufferedRequest = 65_536;

const start = "POST /";
const startBytes = Buffer.from(start);
const version = " HTTP/1.1";
const forbiddenInTarget = /[^\x21-\x7e]/;

/** A head that was parsed, with the positions of its length and its credential. */
export interface ReadHead extends PlainHead {
  readonly headers: Fields;
  readonly lengthColon: number;
  /** Undefined if there is none. */
  readonly credential: Credential | undefined;
}

/** The credential of a request, and the name of its field. */
interface Credential extends PlacedValue {
  readonly name: string;
}

/**
 * readHead reads a head. Returns undefined for a request that Node's server is to answer, and for a head that is not complete; most are.
 */
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

/** plainRequest creates a request of its head and its body. */
export function plainRequest(head: PlainHead, body: Buffer | IncomingBody, socket: Socket): PlainRequest {
  const { url, headers, sameHeaders } = head;
  return { method: "POST", url, headers, sameHeaders, httpVersionMajor: 1, socket, body };
}

function targetIn(head: string, lineEnd: number): string | undefined {
  const line = head.slice(0, lineEnd);
  if (!line.endsWith(version)) return undefined;
  const target = line.slice(start.length - 1, -version.length);
  return forbiddenInTarget.test(target) ? undefined : target;
}

/**
 * Fields with which Node's server does more than read a body, reads it in another way, or ends the connection. It makes a list of
 * `set-cookie`, and drops `__proto__`.
 */
const unplainFields: ReadonlySet<string> = new Set([
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

const credentialFields: ReadonlySet<string> = new Set(["authorization", "x-api-key", "api-key"]);

/** Node's server refuses more than a thousand fields. Plain requests have far fewer, and each takes memory. */
const maxFields = 100;

/** plainFields reads the fields. Returns undefined if one comes twice or is not plain, or if there are too many. */
function plainFields(head: string, from: number): Pick<ReadHead, "headers" | "lengthColon" | "credential"> | undefined {
  const headers: Fields = emptyFields();
  let isUnplain = false;
  let lengthColon = 0;
  let credential: Credential | undefined;
  let count = 0;
  const isPlain = readFields(head, from, (name, value, colon) => {
    if (headers[name] !== undefined || unplainFields.has(name) || ++count > maxFields) isUnplain = true;
    headers[name] = value;
    if (name === "content-length") lengthColon = colon;
    if (credentialFields.has(name)) credential ??= { name, colon, value };
  });
  const { connection = "keep-alive", host } = headers;
  const isKept = connection === "keep-alive" || connection.toLowerCase() === "keep-alive";
  const hasHost = host !== undefined && isHostField(host);
  return isPlain && !isUnplain && isKept && hasHost ? { headers, lengthColon, credential } : undefined;
}
