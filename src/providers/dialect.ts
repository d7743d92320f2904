/**
 * Dialect is how one family of vendors is spoken to over HTTP: its requests, answers, errors and streams. Everything
 * else is shared (`frames/`, `upstream/`).
 */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Form, Operation } from "../call/operations.ts";
import type { Refusal } from "../call/refusals.ts";
import type { Body, Fields } from "../http1/client/index.ts";
import type { Changes } from "../wire/splice.ts";
import type { Wire } from "../wire/wire.ts";
import type { Attempt, Meter } from "./contract.ts";
import type { ErrorPlace } from "./errors/errors-in-answers.ts";
import type { UpstreamError } from "./errors/upstream-error.ts";

/** Dialect writes requests, and reads answers, errors and streams. */
export interface Dialect {
  /** The header fields of all requests, written once (`commonFields`), by the form of the answer. */
  readonly common: Readonly<Record<Form, string>>;
  /** Returns the further header fields of one request. */
  headers?(attempt: Attempt): Fields;
  /** Writes the request's body. */
  body(attempt: Attempt): Body;
  /** Returns the refusal for an error answer. */
  refusal(error: UpstreamError): Refusal;
  /**
   * Returns the refusal for an error in place of an answer, or beside it: some upstreams send errors with status 200.
   */
  errorIn(json: JsonObject, bytes: Buffer, operation: Operation, place: ErrorPlace): Refusal | undefined;
  /** Returns the members of a unary answer that clients need otherwise than its server has them; undefined without any. */
  changes?(json: JsonObject, operation: Operation): JsonObject | undefined;
  /** Returns the members that stand at the head of every unary answer, of which its server has left some out; undefined where it has all. */
  head?(json: JsonObject, attempt: Attempt): JsonObject | undefined;
  /** Reports a unary answer's usage to the meter. */
  measure(json: JsonObject, meter: Meter): void;
  /** namesEvents is whether each frame of a stream says its type, which is also the name of its event. */
  readonly namesEvents?: boolean;
  /** Starts tracking a stream, which also reports it to the attempt's meter. */
  track(attempt: Attempt): StreamTracker;
  /** Returns the frames that say what a unary answer says; undefined where the operation has no streams. */
  framesOf?(json: JsonObject, operation: Operation): readonly JsonObject[] | undefined;
  /** Returns an accumulator of the operation's frames; undefined where it has no streams. */
  accumulator?(operation: Operation): Accumulator | undefined;
}

/** Accumulator makes a unary answer of a stream. It throws where the frames do not make one. */
export interface Accumulator {
  add(frame: JsonObject): void;
  answer(): JsonObject;
}

/** StreamTracker tracks how far a stream has come. */
export interface StreamTracker {
  /** Reports whether a frame's data, which need not be JSON, are the end mark. */
  isEndMark(data: Buffer): boolean;
  /**
   * Takes the next frame without parsing it, where it can, and returns what the caller sees of it. Such a frame
   * neither fails nor ends the stream.
   */
  takeUnparsed?<O extends DescMessage>(frame: Wire<O>): Wire<O> | undefined;
  /** Takes the next frame. Returns what the caller sees of it: nothing, one frame, or those that are usual for it. */
  take<O extends DescMessage>(frame: Wire<O>, json: JsonObject): Wire<O> | readonly Wire<O>[] | undefined;
  /** Takes the JSON of an error in place of a frame or an answer: it may report usage, for which the upstream bills. */
  readonly takeFault?: (json: JsonObject) => void;
  /** Reports whether the end mark came. */
  isOver(): boolean;
  /** Reports whether the answer lacks the rest of a call's input, and has no end but the mark: proxies write one behind a stream that broke. */
  isCut?(): boolean;
  /** Reports whether the answer may end here, with or without the end mark. */
  isComplete(): boolean;
  /** Reports whether a complete answer may go on: its server has gone on behind an end. A failure then is one in mid-answer. */
  mayGoOn?(): boolean;
  /** Returns how long to wait for an end mark that may be missing, in milliseconds; undefined while it must come. */
  lingerMs?(): number | undefined;
  /** Reports whether frames wait for the next one. */
  isWaiting?(): boolean;
  /** Returns the frames that wait for the next one, where the stream ends instead. */
  waitingFrames?<O extends DescMessage>(desc: O): readonly Wire<O>[];
  /** Returns the frames that wait for the next one, where a failure comes instead. */
  heldFrames?<O extends DescMessage>(desc: O): readonly Wire<O>[];
  /** Returns the frames that a complete stream lacks at its end, those that wait included. */
  closingFrames?<O extends DescMessage>(desc: O): readonly Wire<O>[];
}

/**
 * requestBody writes a request with the upstream's name of the model, and with `stream` as the form that is asked for wants it. `further` are
 * the dialect's own changes. Settings of the API that are null, as clients write what is not set, are left out: many servers refuse them.
 */
export function requestBody({ request, form, asked = form, model }: Attempt, further: Changes = {}): Body {
  const json = request.outline();
  const isStream = asked === "stream";
  const changes: Record<string, JsonValue | undefined> = unsetSettings(request.desc, json);
  if (json.model !== model) changes.model = model;
  if ((json.stream === true) !== isStream) changes.stream = isStream || undefined;
  Object.assign(changes, further);
  return (Object.keys(changes).length === 0 ? request : request.with(changes)).sendable();
}

/** unsetSettings returns the changes that leave out each setting of an API that is null. Keys that the API does not have stay as they are. */
export function unsetSettings(desc: DescMessage, json: JsonObject): Record<string, JsonValue | undefined> {
  const changes: Record<string, JsonValue | undefined> = {};
  for (const key in json) if (json[key] === null && settingsOf(desc).has(key)) changes[key] = undefined;
  return changes;
}

const settings = new WeakMap<DescMessage, ReadonlySet<string>>();

function settingsOf(desc: DescMessage): ReadonlySet<string> {
  let known = settings.get(desc);
  if (!known) {
    known = new Set(desc.members.map(({ name }) => name));
    settings.set(desc, known);
  }
  return known;
}
