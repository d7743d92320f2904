/**
 * Dialect is how one family of vendors is spoken to over HTTP: its requests, answers, errors and streams.
 *
 * The functions of `frames/` and `upstream/` do the rest, alike for every dialect.
 */
import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import type { Form, Operation } from "../call/operations.ts";
import type { Refusal } from "../call/refusals.ts";
import type { Fields } from "../http1/fields.ts";
import type { Body } from "../http1/write.ts";
import type { Wire } from "../wire/wire.ts";
import type { Attempt, Meter } from "./contract.ts";
import type { ErrorPlace } from "./errors/errors-in-answers.ts";
import type { UpstreamError } from "./errors/upstream-error.ts";

/** How one family of vendors wants to be spoken to. */
export interface Dialect {
  /** The fields that all requests have (`commonFields`), by the form of the answer. */
  readonly common: Readonly<Record<Form, string>>;
  /** Those of one request. */
  headers?(attempt: Attempt): Fields;
  /** Writes the request. */
  body(attempt: Attempt): Body;
  /** Returns the refusal for an error answer. */
  refusal(error: UpstreamError): Refusal;
  /** Returns the refusal for an error in the place of an answer, or beside it, which some upstreams send with status 200. */
  errorIn(json: JsonObject, bytes: Buffer, operation: Operation, place: ErrorPlace): Refusal | undefined;
  /** Tells the meter what a whole answer says that it used. */
  measure(json: JsonObject, meter: Meter): void;
  /** Begins to follow a stream, and to tell the attempt's meter of it. */
  track(attempt: Attempt): StreamTracker;
  /** Returns the frames of a stream that say what a whole answer says; undefined where the operation has no streams. */
  framesOf?(json: JsonObject, operation: Operation): readonly JsonObject[] | undefined;
  /** Returns what makes a whole answer of a stream's frames; undefined where the operation has no streams. */
  accumulator?(operation: Operation): Accumulator | undefined;
}

/** Makes a whole answer of a stream. What it throws says that the frames make none. */
export interface Accumulator {
  add(frame: JsonObject): void;
  answer(): JsonObject;
}

/** Knows where a stream stands. */
export interface StreamTracker {
  /** Whether these bytes, which need not be JSON, are the word that ends the stream. */
  isEndMark(data: Buffer): boolean;
  /**
   * Takes the next frame without having it parsed, where that can be, and returns what the caller sees of it. Such a frame
   * neither fails nor ends the stream.
   */
  takeUnparsed?<O extends DescMessage>(frame: Wire<O>): Wire<O> | undefined;
  /** Takes the next frame. Returns what the caller sees of it, or nothing. */
  take<O extends DescMessage>(frame: Wire<O>, json: JsonObject): Wire<O> | undefined;
  /** Whether the end was said. */
  isOver(): boolean;
  /** Whether the answer may end here, whether the end was said or not. */
  isComplete(): boolean;
  /** For how long, in milliseconds, an end is waited for that need not be said any more; undefined while it must be. */
  lingerMs?(): number | undefined;
  /** Returns the frames that a complete stream lacks at its end. */
  closingFrames?<O extends DescMessage>(desc: O): readonly Wire<O>[];
}
