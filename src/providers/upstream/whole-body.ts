/**
 * Reads the whole body of an upstream's reply, or of an error if it is not too long. A body that is complete JSON is whole, however its
 * transfer ends: its upstream has billed it, and would answer the same way again.
 */
import type { AnswerRoom } from "../../call/call.ts";
import { upstreamFailed } from "../../call/refusals.ts";
import { Deferred } from "../../runtime/maybe-promise.ts";
import { isObject, type JsonObject, type JsonValue, parsedJson } from "../../wire/json.ts";
import { countsForHealth, faultOf } from "../errors/fault.ts";
import type { Body, Reader, UpstreamReply } from "./reply.ts";

/**
 * readWhole reads a whole body. Rejects with a Refusal if it is larger than `maxBytes`, or finds no memory in `room`.
 *
 * Some servers never end a body of unknown length. One that is complete JSON, no part of a stream, and then silent for `settleMs`, is left.
 */
export function readWhole(reply: UpstreamReply, maxBytes: number, room?: AnswerRoom): Deferred<Buffer> {
  return read(reply, maxBytes, room);
}

/** settleMs is how long a complete body may be silent before it is left, in milliseconds. */
const settleMs = 2000;
/** maxLingering is the length of the longest body that is looked at for its end, in bytes: it is parsed in one turn. */
const maxLingering = 256 * 1024;

const maxErrorBytes = 64 * 1024;

/** assumedFrom is the length in bytes from which on a body of untold length is taken to become up to twice as long as it is. */
const assumedFrom = 64 * 1024;

/**
 * readError reads the body of an error. Resolves to an empty body if it is too large, as some repeat the whole request, or breaks off: the
 * status still counts.
 */
export function readError(reply: UpstreamReply): Deferred<Buffer> {
  return read(reply, maxErrorBytes, "error");
}

function read(reply: UpstreamReply, maxBytes: number, room: AnswerRoom | "error" | undefined): Deferred<Buffer> {
  const whole = new Deferred<Buffer>();
  reply.read(new WholeBody(whole, maxBytes, room, reply));
  return whole;
}

/** announcedBytes returns the length of a body that is not compressed; 0 where it is not told. */
function announcedBytes({ headers }: UpstreamReply): number {
  const length = headers["content-encoding"] === undefined ? Number(headers["content-length"]) : 0;
  return Number.isSafeInteger(length) ? length : 0;
}

class WholeBody implements Reader {
  readonly #whole: Deferred<Buffer>;
  readonly #maxBytes: number;
  readonly #isOfError: boolean;
  readonly #room: AnswerRoom | undefined;
  readonly #announced: number;
  readonly #chunks: Buffer[] = [];
  readonly #lingering: Pick<Body, "leave"> | undefined;
  #bytes = 0;
  #settled: NodeJS.Timeout | undefined;
  /** isLeft is whether it was complete, and left. */
  #isLeft = false;

  /** `room`: the body of an error has none; one that is too large, or breaks off, counts as empty, and does not fail. */
  constructor(whole: Deferred<Buffer>, maxBytes: number, room: AnswerRoom | "error" | undefined, reply: UpstreamReply) {
    this.#whole = whole;
    this.#maxBytes = maxBytes;
    this.#isOfError = room === "error";
    this.#room = room === "error" ? undefined : room;
    this.#announced = Math.min(announcedBytes(reply), maxBytes);
    // It may go on after its answer where its length is not told.
    this.#lingering = reply.headers["content-length"] === undefined ? reply.source : undefined;
  }

  take(batch: readonly Buffer[]): Promise<void> | undefined {
    for (const chunk of batch) {
      this.#bytes += chunk.length;
      this.#chunks.push(chunk);
    }
    if (this.#isTooLarge()) throw upstreamFailed("its answer is too large");
    if (this.#lingering) {
      if (this.#settled) this.#settled.refresh();
      else this.#settled = setTimeout(this.#leaveComplete, settleMs).unref();
    }
    return this.#room?.hold(this.#bytesToCome(), Math.max(this.#announced, this.#bytes));
  }

  /**
   * #bytesToCome returns how long the body will be, as announced or as may be. Memory is taken for all of it at once: many answers that
   * each had a part of theirs would wait for each other. One that is alone takes it as it comes where there is too little.
   */
  #bytesToCome(): number {
    const bytes = Math.max(this.#announced, this.#bytes);
    if (this.#announced > 0 || bytes <= assumedFrom) return bytes;
    return Math.min(this.#maxBytes, 2 ** Math.ceil(Math.log2(bytes)));
  }

  readonly #leaveComplete = (): void => {
    if (!this.#isComplete()) return;
    this.#isLeft = true;
    this.#lingering?.leave();
  };

  #isComplete(): boolean {
    return this.#bytes > 0 && this.#bytes <= maxLingering && isComplete(Buffer.concat(this.#chunks));
  }

  /** Concatenates the body. Allocating it may fail, which is passed on as a failure. */
  resolve(): void {
    clearTimeout(this.#settled);
    const chunks = this.#chunks;
    let bytes: Buffer;
    try {
      bytes = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, this.#bytes);
    } catch (error) {
      this.#whole.reject(error);
      return;
    }
    this.#room?.tryHold(bytes.length);
    this.#whole.resolve(bytes);
  }

  reject(failure: unknown): void {
    clearTimeout(this.#settled);
    if (!this.#isLeft) this.#room?.release();
    // There is no answer for a caller who has left, or after a time-out.
    const isBroken = faultOf(failure) !== undefined && countsForHealth(failure);
    if (this.#isLeft || (isBroken && this.#isComplete())) this.resolve();
    else if (this.#isOfError && (isBroken || this.#isTooLarge())) this.#whole.resolve(Buffer.alloc(0));
    else this.#whole.reject(failure);
  }

  #isTooLarge(): boolean {
    return this.#bytes > this.#maxBytes;
  }
}

/** isComplete reports JSON that is not one line of a stream of JSON objects: there the next line may come after any pause. */
function isComplete(bytes: Buffer): boolean {
  const json = parsedJson(bytes.toString());
  return json !== undefined && !isPart(json);
}

/** Answers of the Messages API and errors have a `type`, as events do. */
const ofWhole: ReadonlySet<JsonValue> = new Set(["message", "error"]);

function isPart(json: JsonValue): boolean {
  if (!isObject(json)) return false;
  const { object, type, choices } = json;
  if (typeof object === "string" && object.endsWith(".chunk")) return true;
  if (typeof type === "string" && object === undefined && !ofWhole.has(type)) return true;
  return Array.isArray(choices) && choices.some((choice) => isObject(choice) && isPartOfChoice(choice));
}

/** The parts of a completion differ from its whole only in that they name no end. */
function isPartOfChoice({ delta, text, finish_reason: end = null }: JsonObject): boolean {
  return delta !== undefined || (text !== undefined && end === null);
}
