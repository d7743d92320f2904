/**
 * Hears what is said to every server of this process, gateways and upstreams alike, and what they answer, and remembers
 * credentials and sentences, so that `left-behind.ts` can look for them. It reads along and changes nothing.
 *
 * Of HTTP/2 it hears requests; the answers are those that the other doors give.
 */
import { subscribe } from "node:diagnostics_channel";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { IncomingBody } from "../../src/http1/server/incoming-body.ts";
import type { PlainRequest } from "../../src/http1/server/request.ts";
import { remember, rememberTrace } from "./left-behind.ts";

/** mostBytes is how much of a body is heard, in bytes. */
const mostBytes = 64 * 1024;

/** The members of public bodies, and of RPCs, in which somebody says something. */
const sayings =
  "content|text|input|prompt|system|instructions|arguments|partial_json|thinking|reasoning|reasoning_content|refusal|filename";
const secrets = "password|secret|token|code|codes";
const member = new RegExp(`"(?:(${sayings})|(${secrets}))"\\s*:\\s*(?:\\[\\s*)?"((?:[^"\\\\]|\\\\.)*)"`, "g");
const isSaying = new RegExp(`^(?:${sayings})$`);

subscribe("http.server.request.start", (message) => {
  const { request, response } = message as { request: IncomingMessage | PlainRequest; response: ServerResponse };
  hearHeaders(request.headers);
  const path = request.url ?? "";
  const heard = (body: string) => hearBody(String(request.headers["content-type"] ?? ""), path, body);
  if ("body" in request) {
    if (Buffer.isBuffer(request.body)) heard(request.body.subarray(0, mostBytes).toString("latin1"));
    else if (request.body) collectComing(request.body, heard);
  } else if (/^\/v1\/(traces|metrics)$/.test(path)) {
    return collect(request, Number.POSITIVE_INFINITY, rememberTrace);
  } else collect(request, mostBytes, heard);
  hearAnswer(response);
});

subscribe("http2.server.stream.created", (message) => {
  const { stream, headers } = message as { stream: ServerHttp2Stream; headers: IncomingHttpHeaders };
  hearHeaders(headers);
  const [type, path] = [String(headers["content-type"] ?? ""), String(headers[":path"])];
  collect(stream, mostBytes, (body) => hearBody(type, path, body));
});

function hearHeaders({ authorization, cookie, ...headers }: IncomingHttpHeaders): void {
  const shown = [authorization?.replace(/^bearer +/i, ""), headers["x-api-key"]];
  const cookies = cookie?.split(/; */).map((pair) => pair.slice(pair.indexOf("=") + 1)) ?? [];
  for (const credential of [...shown, ...cookies]) {
    if (typeof credential === "string") remember("a credential", credential);
  }
}

/** Sees what a stream is given to be read, whoever reads it, and whether or not. */
function collect(stream: IncomingMessage | ServerHttp2Stream, most: number, heard: (body: string) => void): void {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const { push } = stream;
  stream.push = function (this: typeof stream, piece: unknown, ...rest: []) {
    if (Buffer.isBuffer(piece) && bytes < most) {
      // Its memory may be used again.
      pieces.push(Buffer.from(piece));
      bytes += piece.length;
    }
    if (piece === null || piece === undefined) heard(Buffer.concat(pieces.splice(0)).toString("latin1"));
    return push.call(this, piece, ...rest);
  } as typeof push;
}

/** Tells once of its beginning. */
function collectComing(body: IncomingBody, heard: (body: string) => void): void {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const { add } = body;
  body.add = (piece) => {
    // Its memory is used again.
    pieces.push(Buffer.from(piece));
    bytes += piece.length;
    const taken = add.call(body, piece);
    if (bytes < mostBytes && !body.isWhole) return taken;
    body.add = add;
    heard(Buffer.concat(pieces.splice(0)).subarray(0, mostBytes).toString("latin1"));
    return taken;
  };
}

function hearAnswer(response: ServerResponse): void {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const take = (piece: unknown) => {
    if ((typeof piece !== "string" && !(piece instanceof Uint8Array)) || bytes >= mostBytes) return;
    const taken = Buffer.from(piece as string);
    pieces.push(taken);
    bytes += taken.length;
  };
  const { write, end } = response;
  response.write = function (this: ServerResponse, ...args: Parameters<typeof write>) {
    take(args[0]);
    return write.apply(this, args);
  } as typeof write;
  response.end = function (this: ServerResponse, ...args: Parameters<typeof end>) {
    take(args[0]);
    hearJson(Buffer.concat(pieces.splice(0)).toString());
    return end.apply(this, args);
  } as typeof end;
}

/** `latin1` is the body's bytes, a character each. */
function hearBody(type: string, path: string, latin1: string): void {
  if (/proto|grpc/.test(type)) {
    if (path.includes("InferenceService")) hearProto(latin1);
    return;
  }
  const body = Buffer.from(latin1, "latin1").toString();
  if (type.startsWith("application/x-www-form-urlencoded")) {
    for (const [key, value] of new URLSearchParams(body)) hearPair(key, value);
  } else if (type.startsWith("multipart/")) {
    for (const [, key = "", value = ""] of body.matchAll(/name="([^"]+)"\r\n\r\n([\s\S]*?)\r\n--/g))
      hearPair(key, value);
  } else hearJson(body);
}

/** Keys of forms name members in brackets: `messages[0][content]`. */
function hearPair(key: string, value: string): void {
  const name =
    key
      .replaceAll("]", "")
      .split("[")
      .findLast((part) => !/^\d*$/.test(part)) ?? key;
  if (isSaying.test(name)) remember("what was said", value);
  hearJson(value);
}

function hearJson(body: string): void {
  for (const [, saying, secret = "", quoted = ""] of body.matchAll(member)) {
    const text = unquoted(quoted);
    if (saying !== undefined) remember("what was said", text);
    // The codes of errors are words.
    else if (secret === "password" || !/^[a-z_]*$/.test(text)) remember("a credential", text);
  }
}

function unquoted(quoted: string): string {
  try {
    return JSON.parse(`"${quoted}"`) as string;
  } catch {
    return quoted;
  }
}

/** Texts in protobuf stand as they are; before each are its field and its length, which may look like two letters. */
function hearProto(latin1: string): void {
  for (const [run] of latin1.matchAll(/[\x20-\x7e\x80-\xff]{18,}/g)) {
    remember("what was said", Buffer.from(run.slice(2), "latin1").toString());
  }
}
