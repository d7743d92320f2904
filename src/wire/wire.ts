/**
 * Wire is one payload in up to three forms: public JSON text (perhaps in a stream frame), parsed JSON, and a protobuf
 * message.
 *
 * It keeps the form it came in and makes the others on demand. So a call that comes and goes as JSON is never
 * rebuilt, and an RPC pays for JSON only if its upstream speaks it. A Wire does not change its content: `with` makes
 * another.
 */
import type { DescMessage, JsonObject, MessageShape } from "@bufbuild/protobuf";
import { type CooperativeTask, runInSlices, runNow } from "../runtime/cooperative.ts";
import type { MaybePromise } from "../runtime/maybe-promise.ts";
import { expectObject, findMembers, longJson, parseJson, readLongAnswer, readMembers } from "./json.ts";
import { readLongMessage } from "./long/read-long.ts";
import { jsonBytes } from "./long/write-json.ts";
import { readMessage } from "./read.ts";
import { type OmittedText, restoreOmitted } from "./scan/build.ts";
import type { PlainText } from "./scan/delta-template.ts";
import { readOutline } from "./scan/outline.ts";
import { type Changes, type SpliceSource, splice, spliceMembers, spliceSourceOf, withMembers } from "./splice.ts";
import { dataOf } from "./sse.ts";
import { writeMessage } from "./write.ts";

export class Wire<D extends DescMessage = DescMessage> {
  readonly desc: D;
  readonly #lenient: boolean;
  #bytes: Buffer | undefined;
  /** The stream frame that it came in. */
  #frame: Buffer | undefined;
  #json: JsonObject | undefined;
  #message: MessageShape<D> | undefined;
  /** The error of an earlier attempt to read it as a message. */
  #misfit: unknown;
  /** outline is what `outline` returns where that is not the whole JSON. */
  #outline: JsonObject | undefined;
  /** The strings that a request's outline lacks, and the text that holds them. */
  #leftOut: readonly OmittedText[] = [];
  #leftOutOf: Buffer | undefined;
  /** A long request's text and the changes made to it since. They are joined only where one buffer is needed. */
  #changed: SpliceSource | undefined;
  #pieces: readonly Buffer[] | undefined;
  /** The length of a text that was dropped. */
  #droppedLength: number | undefined;
  /** The only text in which it differs from other chunks of its stream, where the stream's reader found that out. */
  plainText: PlainText | undefined;

  private constructor(desc: D, lenient: boolean) {
    this.desc = desc;
    this.#lenient = lenient;
  }

  /** Creates a Wire of JSON text. `lenient` is for upstreams' answers, whose oddities are kept instead of refused. */
  static ofBytes<D extends DescMessage>(desc: D, bytes: Buffer, lenient = false): Wire<D> {
    const wire = new Wire(desc, lenient);
    wire.#bytes = bytes;
    return wire;
  }

  /** Creates a Wire of a parsed JSON object. */
  static ofJson<D extends DescMessage>(desc: D, json: JsonObject, lenient = false): Wire<D> {
    const wire = new Wire(desc, lenient);
    wire.#json = json;
    return wire;
  }

  /** Creates a Wire of a long request's JSON and writes the text in time slices. `count` receives the bytes so far. */
  static *ofLong<D extends DescMessage>(
    desc: D,
    json: JsonObject,
    count?: (bytes: number) => void,
  ): CooperativeTask<Wire<D>> {
    const wire = Wire.ofJson(desc, json);
    yield* wire.#write(count);
    return wire;
  }

  /** Creates a Wire of a protobuf message. */
  static ofMessage<D extends DescMessage>(desc: D, message: MessageShape<D>): Wire<D> {
    const wire = new Wire(desc, false);
    wire.#message = message;
    return wire;
  }

  /** Creates a Wire of an answer in a frame that we wrote. `bytes` is the frame's JSON text. */
  static ofFrame<D extends DescMessage>(desc: D, frame: Buffer, bytes?: Buffer): Wire<D> {
    const wire = new Wire(desc, true);
    wire.#frame = frame;
    wire.#bytes = bytes;
    return wire;
  }

  /** Sets the only text in which it differs from other chunks. */
  withPlainText(plainText: PlainText): this {
    this.plainText = plainText;
    return this;
  }

  /** Returns the JSON text. */
  bytes(): Buffer {
    this.#bytes = this.#text() ?? Buffer.from(JSON.stringify(this.json()));
    return this.#bytes;
  }

  /** Returns the JSON text; for a long, changed one, its pieces. */
  sendable(): Buffer | readonly Buffer[] {
    if (!this.#changed || this.#bytes) return this.bytes();
    const { bytes, members, changes } = this.#changed;
    this.#pieces ??= splice(bytes, changes, members);
    return this.#pieces;
  }

  /** Length of the JSON text, in bytes; also of one that was dropped. */
  get byteLength(): number {
    if (this.#droppedLength !== undefined && !this.#bytes) return this.#droppedLength;
    const text = this.sendable();
    return Buffer.isBuffer(text) ? text.length : text.reduce((sum, { length }) => sum + length, 0);
  }

  /** The JSON text, where it came as text or was written since. */
  #text(): Buffer | undefined {
    if (this.#changed && !this.#bytes) this.#bytes = Buffer.concat(this.sendable() as readonly Buffer[]);
    if (this.#frame) this.#bytes ??= dataOf(this.#frame);
    return this.#bytes;
  }

  /** Writes the JSON text in time slices unless it exists. Use it for what is known to be long. */
  writeInSlices(): MaybePromise<this> {
    if (this.#text() !== undefined) return this;
    return runInSlices(this.#write()).then(() => this);
  }

  *#write(count?: (bytes: number) => void): CooperativeTask<void> {
    const bytes = yield* jsonBytes(this.json(), count);
    this.#bytes = bytes;
    if (!this.#lenient && bytes.length >= longJson) yield* this.#find(bytes);
  }

  /** Finds where the members of a long text are, in time slices: `with` need not look for them at one go then. */
  findInSlices(): MaybePromise<this> {
    const text = this.#text();
    if (this.#changed || !text || text.length < longJson) return this;
    return runInSlices(this.#find(text)).then(() => this);
  }

  *#find(text: Buffer): CooperativeTask<void> {
    this.#changed = spliceSourceOf(text, yield* findMembers(text));
  }

  /** isLong is whether the text is long enough to be worked on in time slices. */
  get isLong(): boolean {
    return (this.#changed ? this.byteLength : (this.#text()?.length ?? 0)) >= longJson;
  }

  /** Drops the JSON text where the parsed JSON exists. A later `bytes` writes it anew, not as it came. */
  dropText(): void {
    if (!this.#json) return;
    this.#droppedLength = this.#bytes || this.#changed || this.#frame ? this.byteLength : undefined;
    this.#bytes = this.#changed = this.#pieces = undefined;
    this.#frame = undefined;
  }

  /** Returns the stream frame that it came in, if any: a data frame or an event. */
  frame(): Buffer | undefined {
    return this.#frame;
  }

  /** Returns the JSON object, which must not be changed. Throws a WireFault where the bytes are not one. */
  json(): JsonObject {
    if (this.#json) return this.#json;
    const text = this.#text();
    if (this.#outline && this.#leftOutOf) return this.#fillIn(this.#outline, this.#leftOutOf);
    const json = text ? parseJson(text, this.#lenient) : writeMessage(this.desc, this.#message as MessageShape<D>);
    this.#json = expectObject(json);
    return this.#json;
  }

  #fillIn(outline: JsonObject, text: Buffer): JsonObject {
    restoreOmitted(text, this.#leftOut);
    this.#json = outline;
    this.#outline = this.#leftOutOf = undefined;
    return outline;
  }

  /**
   * Parses a long text in time slices. With `isOutlined` an answer is parsed only as far as `outline` needs, and without it wholly, also
   * where it was outlined before. Throws like `json`, now or later.
   */
  parseInSlices(isOutlined = false): MaybePromise<this> {
    const text = this.#text();
    const isRead = this.#json ?? (isOutlined || !this.#lenient ? this.#outline : undefined);
    if (isRead || !text || text.length < longJson) return this;
    return runInSlices(this.#lenient ? this.#readAnswer(text, isOutlined) : this.#read(text)).then(() => this);
  }

  *#readAnswer(text: Buffer, isOutlined: boolean): CooperativeTask<void> {
    const outline = isOutlined ? yield* readOutline(text) : undefined;
    if (outline !== undefined) this.#outline = expectObject(outline);
    else {
      this.#json = expectObject(yield* readLongAnswer(text));
      this.#outline = undefined;
    }
  }

  *#read(text: Buffer): CooperativeTask<void> {
    const leftOut: OmittedText[] = [];
    const { value, members } = yield* readMembers(text, leftOut);
    const read = expectObject(value);
    this.#changed = spliceSourceOf(text, members);
    if (leftOut.length === 0) this.#json = read;
    else {
      this.#outline = read;
      this.#leftOut = leftOut;
      this.#leftOutOf = text;
    }
  }

  /**
   * Returns the JSON object for readers that ignore long values; it must not be changed. In an answer the vectors may
   * be of one zero, and in a request long strings may be fillers of the same length. Throws like `json`.
   */
  outline(): JsonObject {
    if (this.#json) return this.#json;
    const text = this.#outline ? undefined : this.#text();
    if (text && !this.#lenient && text.length >= longJson) runNow(this.#read(text));
    const outline = text && this.#lenient ? runNow(readOutline(text)) : undefined;
    if (outline !== undefined) this.#outline = expectObject(outline);
    return this.#outline ?? this.json();
  }

  /**
   * Returns a string of the outline that may stand in for one of the same length: the text itself, in ASCII. `holder` is the object of
   * the outline that has it.
   */
  longText(holder: JsonObject, key: string): string | Buffer {
    const omitted = this.#leftOut.find((one) => one.holder === holder && one.key === key);
    return omitted && this.#leftOutOf ? this.#leftOutOf.subarray(omitted.from, omitted.to) : (holder[key] as string);
  }

  /** Reports whether only the message exists, and no JSON. */
  isMessageOnly(): boolean {
    return this.#message !== undefined && this.#json === undefined && this.#text() === undefined;
  }

  /** Returns the message, which must not be changed. Throws a WireFault where the JSON does not fit. */
  message(): MessageShape<D> {
    if (this.#misfit) throw this.#misfit;
    this.#message ??= readMessage(this.desc, this.json(), { lenient: this.#lenient });
    return this.#message;
  }

  /** Reads a long request's message in time slices. `message` throws what does not fit. */
  *readLongMessage(): CooperativeTask<void> {
    if (this.#message || this.#misfit || this.#lenient) return;
    try {
      this.#message = yield* readLongMessage(this.desc, this.json());
    } catch (fault) {
      this.#misfit = fault;
    }
  }

  /**
   * Returns a copy with these top-level members set; undefined removes a member. Values must not come from an outline
   * where they can be long. Throws a WireFault where the bytes are not a JSON object.
   */
  with(changes: Changes): Wire<D> {
    const copy = new Wire(this.desc, this.#lenient);
    // Read first: only a known object can be spliced.
    const outline = this.outline();
    if (this.#changed) copy.#changed = { ...this.#changed, changes: { ...this.#changed.changes, ...changes } };
    else copy.#bytes = this.#bytes && spliceMembers(this.#bytes, changes);
    if ((copy.#bytes || copy.#changed) && outline !== this.#json) copy.#outline = withMembers(outline, changes);
    else copy.#json = withMembers(this.json(), changes);
    return copy;
  }

  /** Returns a copy like `with`, for long values: call `writeInSlices` for its text. */
  rebuiltWith(changes: Changes): Wire<D> {
    return Wire.ofJson(this.desc, withMembers(this.json(), changes), this.#lenient);
  }

  /** Returns a copy like `with`, for values that are long where this is: call `writeInSlices` for the text of a long one. */
  changedBy(changes: Changes): Wire<D> {
    return this.isLong ? this.rebuiltWith(changes) : this.with(changes);
  }

  /** Returns such a copy with its text, which is written in time slices where it is long. */
  rewrittenBy(changes: Changes): MaybePromise<Wire<D>> {
    return this.isLong ? this.rebuiltWith(changes).writeInSlices() : this.with(changes);
  }
}
