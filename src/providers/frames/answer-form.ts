/** Sniffs the form of an answer from its first bytes. Upstreams and proxies label answers wrongly, or not at all. */
import { Deferred } from "../../runtime/maybe-promise.ts";
import { type Body, type Reader, UpstreamReply } from "../upstream/reply.ts";

/** AnswerForm is one JSON value, server-sent events, or neither. */
export type AnswerForm = "json" | "events" | "other";

/** The largest unary answer, in bytes. */
export const maxAnswerBytes = 64 * 1024 * 1024;

const openBrace = 0x7b;
const openBracket = 0x5b;
const spaces: ReadonlySet<number> = new Set(Buffer.from(" \t\r\n"));
/** An answer that begins with more white space than this, in bytes, is taken for none. */
const mostSpace = 65_536;
const byteOrderMark = [0xef, 0xbb, 0xbf];
const fieldNames = ["data", "event", "id", "retry", ":"].map((name) => Buffer.from(name));

/** beginningOf returns the index of the first byte that is not white space, or -1. */
function beginningOf(bytes: Buffer): number {
  const from = byteOrderMark.every((byte, at) => bytes[at] === byte) ? byteOrderMark.length : 0;
  for (let at = from; at < bytes.length; at++) if (!spaces.has(bytes[at] as number)) return at;
  return -1;
}

/** withoutMark returns JSON without the byte order mark before it, which no parser takes. */
export function withoutMark(bytes: Buffer): Buffer {
  return byteOrderMark.every((byte, at) => bytes[at] === byte) ? bytes.subarray(byteOrderMark.length) : bytes;
}

/** sniffForm returns undefined while too little has come to tell. */
export function sniffForm(bytes: Buffer): AnswerForm | undefined {
  const at = beginningOf(bytes);
  if (at === -1) return undefined;
  const first = bytes[at];
  if (first === openBrace || first === openBracket) return "json";
  const isField = (name: Buffer) => {
    const begun = bytes.subarray(at, at + name.length);
    return name.subarray(0, begun.length).equals(begun);
  };
  return fieldNames.some(isField) ? "events" : "other";
}

/** mediaTypeOf returns the media type without parameters, in lower case; empty where none or several are named. */
export function mediaTypeOf({ headers }: UpstreamReply): string {
  const type = headers["content-type"];
  return typeof type === "string" ? (type.split(";", 1)[0] as string).trim().toLowerCase() : "";
}

/** SniffedReply is a reply whose form is known. */
export interface SniffedReply {
  readonly form: AnswerForm;
  /** The same reply; no byte of it is lost. */
  readonly reply: UpstreamReply;
}

/** sniffReply waits for as much of the body as tells its form. Rejects with a Refusal where the upstream fails before. */
export function sniffReply(reply: UpstreamReply): Deferred<SniffedReply> {
  const begun = new Deferred<SniffedReply>();
  const onForm = (form: AnswerForm, body: Body) => {
    begun.resolve({ form, reply: new UpstreamReply(reply.status, reply.headers, body) });
  };
  reply.read(new SniffedBody(reply.source, onForm, (failure) => begun.reject(failure)));
  return begun;
}

/** SniffedBody sits between a body and its reader, which comes when the form is known. */
class SniffedBody implements Body, Reader {
  readonly #source: Body;
  readonly #told: (form: AnswerForm, body: Body) => void;
  readonly #failed: (failure: unknown) => void;
  #held: Buffer | undefined;
  #space = 0;
  #isKnown = false;
  #reader: Reader | undefined;
  /** Resumes the source, or leaves it. */
  #goOn: PromiseWithResolvers<void> | undefined;
  /** ended tells a reader how the body ended before it had one. */
  #ended: ((reader: Reader) => void) | undefined;

  constructor(source: Body, onForm: (form: AnswerForm, body: Body) => void, failed: (failure: unknown) => void) {
    this.#source = source;
    this.#told = onForm;
    this.#failed = failed;
  }

  take(batch: readonly Buffer[]): Promise<void> | undefined {
    if (this.#reader) return this.#reader.take(batch);
    const bytes = Buffer.concat(batch);
    let form = sniffForm(bytes);
    if (form === undefined) {
      // White space before an answer is no part of it.
      this.#space += bytes.length;
      if (this.#space <= mostSpace) return undefined;
      form = "other";
    }
    this.#held = bytes;
    this.#goOn = Promise.withResolvers<void>();
    this.#tell(form);
    return this.#goOn.promise;
  }

  resolve(): void {
    this.#end((reader) => reader.resolve());
  }

  reject(failure: unknown): void {
    if (!this.#isKnown) this.#failed(failure);
    else this.#end((reader) => reader.reject(failure));
  }

  #end(tell: (reader: Reader) => void): void {
    if (this.#reader) {
      tell(this.#reader);
      return;
    }
    this.#ended = tell;
    if (!this.#isKnown) this.#tell("other");
  }

  #tell(form: AnswerForm): void {
    this.#isKnown = true;
    this.#told(form, this);
  }

  read(reader: Reader): void {
    this.#reader = reader;
    void this.#tellHeld(reader).then(this.#goOn?.resolve, this.#goOn?.reject);
  }

  async #tellHeld(reader: Reader): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    if (held) await reader.take([held]);
    this.#ended?.(reader);
  }

  leave(): void {
    this.#goOn?.resolve();
    this.#source.leave();
  }

  lifeless(since: number): void {
    this.#source.lifeless(since);
  }
}
