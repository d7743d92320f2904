/**
 * Reads a whole body within bounds of size and time, and makes a request of it.
 *
 * A body over the limit is refused as soon as that is known. What still arrives of it is for `discard`.
 */
import type { IncomingMessage } from "node:http";
import type { DescMessage } from "@bufbuild/protobuf";
import type { BodyRoom } from "../../call/call.ts";
import {
  cancelled,
  formTooLarge,
  internal,
  requestTimeout,
  requestTooLarge,
  unsupportedMediaType,
} from "../../call/refusals.ts";
import { IncomingBody, type PlainRequest } from "../../http1/server/index.ts";
import { runInSlices, runNow } from "../../runtime/cooperative.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { discardInTurns, readInTurns } from "../../runtime/read-turns.ts";
import { type JsonObject, longJson } from "../../wire/json.ts";
import { join } from "../../wire/long/join.ts";
import { jsonLength } from "../../wire/scan/json-length.ts";
import { Wire } from "../../wire/wire.ts";
import type { BodyShare } from "./body-budget.ts";
import { readForm, readMultipart } from "./form.ts";

export interface BodyLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

/** HttpRequest is a request of Node's own server, or a plain one of `http1/`. */
export type HttpRequest = IncomingMessage | PlainRequest;

export function headerText({ headers }: HttpRequest, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

/**
 * readBody reads the body, once: it is not kept. Its bytes are counted in `share` as they arrive. Throws a Refusal, now or later: too
 * large, too slow, no room for it, or the client disconnected.
 */
export function readBody(req: HttpRequest, limits: BodyLimits, share: BodyShare): MaybePromise<Buffer> {
  const length = Number(req.headers["content-length"] ?? 0);
  if (length > limits.maxBytes) throw requestTooLarge(limits.maxBytes);
  if ("body" in req) return plainBody(req, limits, share);
  // Most bodies arrive with their heads, and can be read in the next microtask. Then no listener is needed.
  const read = () => {
    if (req.readableLength !== length) return collect(req, limits, share);
    share.add(length);
    // Without a length it returns one read of several.
    return req.read(length) as Buffer;
  };
  return length > 0 ? Promise.resolve().then(read) : collect(req, limits, share);
}

function plainBody(req: PlainRequest, limits: BodyLimits, share: BodyShare): MaybePromise<Buffer> {
  const { body } = req;
  if (body instanceof IncomingBody) return comingBody(body, limits, share);
  if (!body) throw internal(new Error("a request's body was read twice"));
  // A stream may keep its request for hours.
  req.body = undefined;
  share.add(body.length);
  return body;
}

function comingBody(body: IncomingBody, limits: BodyLimits, share: BodyShare): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(requestTimeout()), limits.timeoutMs);
    const onBody = (bytes: Buffer | undefined) => {
      clearTimeout(timer);
      if (bytes) resolve(bytes);
      else reject(cancelled());
    };
    body.take(onBody, (bytes) => {
      try {
        share.add(bytes);
      } catch (refusal) {
        clearTimeout(timer);
        body.drop(limits.timeoutMs);
        reject(refusal);
      }
    });
  });
}

function collect(req: IncomingMessage, limits: BodyLimits, share: BodyShare): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const timer = setTimeout(() => stop(requestTimeout()), limits.timeoutMs);
    const stopListening = () => {
      clearTimeout(timer);
      req.off("data", onData).off("end", onEnd).off("error", onGone).off("close", onGone);
    };
    const stop = (refusal: unknown) => {
      stopListening();
      chunks.length = 0;
      reject(refusal);
    };
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limits.maxBytes) return stop(requestTooLarge(limits.maxBytes));
      chunks.push(chunk);
      try {
        share.add(chunk.length);
      } catch (refusal) {
        return stop(refusal);
      }
      if (bytes >= longJson) readInTurns(req, chunk.length, () => req.resume());
    };
    const onEnd = () => {
      stopListening();
      if (bytes < longJson) resolve(runNow(join(chunks)));
      else runInSlices(join(chunks)).then(resolve, reject);
    };
    const onGone = () => stop(cancelled());
    req.on("data", onData).on("end", onEnd).on("error", onGone).on("close", onGone);
  });
}

/**
 * Discards what still arrives of a body that is not needed: a client may read its refusal only after it has sent everything,
 * and the connection serves the next request only after that. After `timeoutMs` the connection is cut.
 */
export function discard(req: HttpRequest, timeoutMs: number): void {
  if ("body" in req) {
    if (req.body instanceof IncomingBody) req.body.drop(timeoutMs);
    return;
  }
  const { socket } = req;
  if (req.complete || socket.destroyed) return;
  const cut = setTimeout(() => socket.destroy(), timeoutMs).unref();
  const settle = () => {
    clearTimeout(cut);
    socket.off("close", settle);
  };
  req.once("end", settle);
  // Not the request's `close`, which may have been emitted with the end of its answer.
  socket.once("close", settle);
  discardInTurns(req);
}

const accepted = "application/json, application/x-www-form-urlencoded and multipart/form-data";
const jsonType = "application/json";
const emptyObject = Buffer.from("{}");

/**
 * requestOf makes a request of a body. Throws a Refusal if its type is neither JSON nor a form, or if it becomes too large.
 *
 * Clients forget the header: `curl -d '{…}'` declares a form, and an SDK in a browser may declare text. So where the type is
 * missing, text or form, an opening brace or bracket means JSON: as a form, a list would be a field that nobody asked for. An
 * empty body is the empty object: then the refusal names the missing fields.
 */
export function requestOf(desc: DescMessage, contentType = "", body: Buffer, room: BodyRoom): Wire {
  if (body.length === 0) return Wire.ofBytes(desc, emptyObject);
  const read = withoutByteOrderMark(body);
  if (contentType === jsonType) return Wire.ofBytes(desc, read);
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type === jsonType || type.endsWith("+json")) return Wire.ofBytes(desc, read);
  if (type === "multipart/form-data") return ofForm(desc, readMultipart(desc, contentType, formIn(read)), room);
  const guessed = type === "" || type === "text/plain" || type === "application/x-www-form-urlencoded";
  if (!guessed) throw unsupportedMediaType(accepted);
  const isJson = /^\s*[{[]/.test(read.toString("latin1", 0, 64));
  return isJson ? Wire.ofBytes(desc, read) : ofForm(desc, readForm(desc, formIn(read)), room);
}

/**
 * The largest form, in bytes. A byte of a form may cost more than one of JSON, and forms are read in one turn. People type
 * them.
 */
const maxFormBytes = 262_144;

/** formIn returns the body. Throws a Refusal if it is larger than a form may be. */
function formIn(body: Buffer): Buffer {
  if (body.length > maxFormBytes) throw formTooLarge(maxFormBytes);
  return body;
}

/** ofForm counts a form as the JSON that it becomes. */
function ofForm(desc: DescMessage, json: JsonObject, room: BodyRoom): Wire {
  room.growTo(jsonLength(json, room.maxBytes));
  return Wire.ofJson(desc, json);
}

/**
 * withoutByteOrderMark drops a byte order mark. Some editors put one before JSON, and upstreams refuse it; before a form it would be part of the
 * first field's name, which would be lost.
 */
function withoutByteOrderMark(body: Buffer): Buffer {
  const isMarked = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
  return isMarked ? body.subarray(3) : body;
}
