/**
 * One payload in up to three forms: JSON text as on the public wire, perhaps in a frame of a stream, the parsed JSON, and a
 * protobuf message.
 *
 * It keeps the form it was born with and makes the others when they are first asked for. So a call that comes in
 * as JSON and goes on as JSON is never rebuilt, and an RPC call pays for JSON only if its upstream speaks it.
 * What a Wire says is never changed: `with` makes another.
 */
import type { DescMessage, JsonObject, MessageShape } from "@bufbuild/protobuf";
import { type CooperativeTask, runInSlices, runNow } from "../runtime/cooperative.ts";
import type { MaybePromise } from "../runtime/maybe-promise.ts";
import { asObject, findMembers, longJson, parseJson, readAnswer, readMembers } from "./json.ts";
import { readLongMessage } from "./long/read-long.ts";
import { jsonBytes } from "./long/write-json.ts";
import { readMessage } from "./read.ts";
import { type LeftOut, putIn } from "./scan/build.ts";
import type { PlainText } from "./scan/delta-template.ts";
import { readOutline } from "./scan/outline.ts";
import { type Changed, type Changes, changedNowhere, splice, spliceMembers, withMembers } from "./splice.ts";
import { dataOf } from "./sse.ts";
import { writeMessage } from "./write.ts";

export class Wire<D extends DescMessage = DescMessage> {
  readonly desc: D;
  readonly #lenient: boolean;
  #bytes: Buffer | undefined;
  /** The frame of a stream that it was born in. */
  #frame: Buffer | undefined;
  #json: JsonObject | undefined;
  #message: MessageShape<D> | undefined;
  /** Why it is no message, where that has been found out. */
  #misfit: unknown;
  /** As `outline` returns it, where that is not all. */
  #outline: JsonObject | undefined;
  /** What a request's outline lacks, and the text that has it. */
  #leftOut: readonly LeftOut[] = [];
  #leftOutOf: Buffer | undefined;
  /** A long request's text, and what has been changed in it since: it is put together only where it has to be one piece. */
  #changed: Changed | undefined;
  #pieces: readonly Buffer[] | undefined;
  /** The text by which alone it differs from others of its stream, where whoever reads the stream has found that out. */
  plainText: PlainText | undefined;

  private constructor(desc: D, lenient: boolean) {
    this.desc = desc;
    this.#lenient = lenient;
  }

  /** Takes JSON text. `lenient` is for what upstreams say: oddities are kept instead of refused. */
  static ofBytes<D extends DescMessage>(desc: D, bytes: Buffer, lenient = false): Wire<D> {
    const wire = new Wire(desc, lenient);
    wire.#bytes = bytes;
    return wire;
  }

  /** Takes a parsed JSON object. */
  static ofJson<D extends DescMessage>(desc: D, json: JsonObject, lenient = false): Wire<D> {
    const wire = new Wire(desc, lenient);
    wire.#json = json;
    return wire;
  }

  /** Takes a long request's JSON and writes it, in turns. `count` is told how many bytes it has, as they come to be. */
  static *ofLong<D extends DescMessage>(
    desc: D,
    json: JsonObject,
    count?: (bytes: number) => void,
  ): CooperativeTask<Wire<D>> {
    const wire = Wire.ofJson(desc, json);
    yield* wire.#write(count);
    return wire;
  }

  /** Takes a protobuf message. */
  static ofMessage<D extends DescMessage>(desc: D, message: MessageShape<D>): Wire<D> {
    const wire = new Wire(desc, false);
    wire.#message = message;
    return wire;
  }

  /** Takes an answer's JSON text in a frame of a stream as we write them: of data alone, or an event. `bytes` is that text. */
  static ofFrame<D extends DescMessage>(desc: D, frame: Buffer, bytes?: Buffer): Wire<D> {
    const wire = new Wire(desc, true);
    wire.#frame = frame;
    wire.#bytes = bytes;
    return wire;
  }

  /** Says by which text alone it differs. */
  differingIn(plainText: PlainText): this {
    this.plainText = plainText;
    return this;
  }

  /** Returns the JSON text. */
  bytes(): Buffer {
    this.#bytes = this.#text() ?? Buffer.from(JSON.stringify(this.json()));
    return this.#bytes;
  }

  /** Returns the JSON text; of a long one that has been changed, the pieces of which it consists. */
  sendable(): Buffer | readonly Buffer[] {
    if (!this.#changed || this.#bytes) return this.bytes();
    const { bytes, members, changes } = this.#changed;
    this.#pieces ??= splice(bytes, changes, members);
    return this.#pieces;
  }

  /** How long the JSON text is, in bytes. */
  get byteLength(): number {
    const text = this.sendable();
    return Buffer.isBuffer(text) ? text.length : text.reduce((sum, { length }) => sum + length, 0);
  }

  /** The JSON text, where it came as text or was written since. */
  #text(): Buffer | undefined {
    if (this.#changed && !this.#bytes) this.#bytes = Buffer.concat(this.sendable() as readonly Buffer[]);
    if (this.#frame) this.#bytes ??= dataOf(this.#frame);
    return this.#bytes;
  }

  /** Writes the JSON text in turns, where it is not there: it is for what is known to be long. */
  written(): MaybePromise<this> {
    if (this.#text() !== undefined) return this;
    return runInSlices(this.#write()).then(() => this);
  }

  *#write(count?: (bytes: number) => void): CooperativeTask<void> {
    const bytes = yield* jsonBytes(this.json(), count);
    this.#bytes = bytes;
    if (!this.#lenient && bytes.length >= longJson) this.#changed = changedNowhere(bytes, yield* findMembers(bytes));
  }

  /** Whether so much came, or was written, that it is worked on in turns. */
  get isLong(): boolean {
    return (this.#changed ? this.byteLength : (this.#text()?.length ?? 0)) >= longJson;
  }

  /** Lets go of the JSON text where it is kept parsed as well. Who still asks for it gets it written anew, not as it came. */
  letGoOfText(): void {
    if (!this.#json) return;
    this.#bytes = this.#changed = this.#pieces = undefined;
    this.#frame = undefined;
  }

  /** Returns the frame of a stream that it was born in, if it was: of data alone, or an event. */
  frame(): Buffer | undefined {
    return this.#frame;
  }

  /** Returns the JSON object; not to be changed. Throws a WireFault where the bytes are none. */
  json(): JsonObject {
    if (this.#json) return this.#json;
    const text = this.#text();
    if (this.#outline && this.#leftOutOf) return this.#fillIn(this.#outline, this.#leftOutOf);
    const json = text ? parseJson(text, this.#lenient) : writeMessage(this.desc, this.#message as MessageShape<D>);
    this.#json = asObject(json);
    return this.#json;
  }

  #fillIn(outline: JsonObject, text: Buffer): JsonObject {
    putIn(text, this.#leftOut);
    this.#json = outline;
    this.#outline = this.#leftOutOf = undefined;
    return outline;
  }

  /**
   * Reads a long text in turns, so that nobody waits for it; of an answer only what `outline` returns, where that is asked for.
   * Throws as `json` does, now or later.
   */
  prepared(isOutlined = false): MaybePromise<this> {
    const text = this.#text();
    if (this.#json || this.#outline || !text || text.length < longJson) return this;
    return runInSlices(this.#lenient ? this.#readAnswer(text, isOutlined) : this.#read(text)).then(() => this);
  }

  *#readAnswer(text: Buffer, isOutlined: boolean): CooperativeTask<void> {
    const outline = isOutlined ? yield* readOutline(text) : undefined;
    if (outline !== undefined) this.#outline = asObject(outline);
    else this.#json = asObject(yield* readAnswer(text));
  }

  *#read(text: Buffer): CooperativeTask<void> {
    const leftOut: LeftOut[] = [];
    const { value, members } = yield* readMembers(text, leftOut);
    const read = asObject(value);
    this.#changed = changedNowhere(text, members);
    if (leftOut.length === 0) this.#json = read;
    else {
      this.#outline = read;
      this.#leftOut = leftOut;
      this.#leftOutOf = text;
    }
  }

  /**
   * Returns the JSON object for who does not look into what is long; not to be changed. In an answer the lists of vectors may
   * stand empty, and in a request other texts of their length instead of long ones. Throws as `json` does.
   */
  outline(): JsonObject {
    if (this.#json) return this.#json;
    const text = this.#outline ? undefined : this.#text();
    if (text && !this.#lenient && text.length >= longJson) runNow(this.#read(text));
    const outline = text && this.#lenient ? runNow(readOutline(text)) : undefined;
    if (outline !== undefined) this.#outline = asObject(outline);
    return this.#outline ?? this.json();
  }

  /** Whether it is a message that nobody has asked for its JSON. */
  isMessage(): boolean {
    return this.#message !== undefined && this.#json === undefined && this.#text() === undefined;
  }

  /** Returns the message; not to be changed. Throws a WireFault where the JSON does not fit it. */
  message(): MessageShape<D> {
    if (this.#misfit) throw this.#misfit;
    this.#message ??= readMessage(this.desc, this.json(), { lenient: this.#lenient });
    return this.#message;
  }

  /** Reads a long request's message in turns. What does not fit is for `message` to say. */
  *understand(): CooperativeTask<void> {
    if (this.#message || this.#misfit || this.#lenient) return;
    try {
      this.#message = yield* readLongMessage(this.desc, this.json());
    } catch (fault) {
      this.#misfit = fault;
    }
  }

  /**
   * Returns a copy with these top-level members set, or left out where undefined. What is taken out of an outline, and can be
   * long, is no value for them. Throws a WireFault where the bytes are no JSON object.
   */
  with(changes: Changes): Wire<D> {
    const copy = new Wire(this.desc, this.#lenient);
    // Read first: only what is known to be an object can be spliced.
    const outline = this.outline();
    if (this.#changed) copy.#changed = { ...this.#changed, changes: { ...this.#changed.changes, ...changes } };
    else copy.#bytes = this.#bytes && spliceMembers(this.#bytes, changes);
    if ((copy.#bytes || copy.#changed) && outline !== this.#json) copy.#outline = withMembers(outline, changes);
    else copy.#json = withMembers(this.json(), changes);
    return copy;
  }

  /** As `with`, of what is or becomes long: its text is left to be written in turns (`written`). */
  rebuiltWith(changes: Changes): Wire<D> {
    return Wire.ofJson(this.desc, withMembers(this.json(), changes), this.#lenient);
  }
}
