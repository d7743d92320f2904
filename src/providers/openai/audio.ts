/**
 * Reads the audio of a reply, in whichever form a server has it: the bytes themselves, server-sent events, or a JSON
 * object with the audio in base64 or hexadecimal digits. What holds no audio is the upstream's failure: an error with
 * status 200, a page, a text, nothing at all.
 *
 * Audio may have any bytes, and servers label it as they like. So the first bytes decide: what begins like JSON,
 * events or a page is read as such, and is audio nevertheless where it turns out to be none of these.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { brokenOff, type Refusal, upstreamFailed } from "../../call/refusals.ts";
import { isFilledText, isObject, parsedJson } from "../../wire/json.ts";
import { type SseFrame, SseReader } from "../../wire/sse.ts";
import { type ErrorPlace, namesError } from "../errors/errors-in-answers.ts";
import { readOrFail } from "../errors/fault.ts";
import { isDone } from "../frames/done.ts";

/** RefusalIn returns the refusal for JSON that is an error, or no answer. */
export type RefusalIn = (json: JsonObject, bytes: Buffer, place: ErrorPlace) => Refusal | undefined;

/** The largest object that is searched for audio, in bytes: it is parsed at one go. */
const maxObjectBytes = 16 * 1024 * 1024;
/** The same for a body that is labelled as audio. No error is as long. */
const maxDoubtedBytes = 64 * 1024;

type Form = "audio" | "events" | "object" | "page";

export class AudioReader {
  readonly #isText: boolean;
  readonly #refusalIn: RefusalIn;
  #form: Form | undefined;
  /** #held are the bytes that have arrived and are not passed on yet. */
  #held: Buffer[] = [];
  #heldBytes = 0;
  readonly #events = new SseReader();
  #saidAnything = false;
  #isOver = false;

  /** `mediaType` is without parameters, in lower case. */
  constructor(mediaType: string, refusalIn: RefusalIn) {
    this.#isText = isTextType(mediaType);
    this.#refusalIn = refusalIn;
  }

  /** The bytes that have arrived and are not passed on yet. */
  get heldBytes(): number {
    return this.#form === "events" ? this.#events.heldBytes : this.#heldBytes;
  }

  /** push returns the audio that has come. Throws a Refusal. */
  push(bytes: Buffer): readonly Buffer[] {
    if (this.#form === "audio") return [bytes];
    if (this.#form === "events") return this.#audioIn(readOrFail(() => this.#events.push(bytes)));
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (this.#form === undefined) {
      const held = Buffer.concat(this.#held);
      this.#form = formOf(held, this.#isText);
      if (this.#form === "page") throw notAudio();
      if (this.#form === "events") return this.#audioIn(readOrFail(() => this.#events.push(held)));
    }
    if (this.#form === "audio") return this.#tellHeld();
    if (this.#heldBytes <= (this.#isText ? maxObjectBytes : maxDoubtedBytes)) return [];
    if (this.#isText) throw upstreamFailed("its answer is too large");
    this.#form = "audio";
    return this.#tellHeld();
  }

  /** end returns the rest of the audio. Throws a Refusal where there was none, or where events lack their end. */
  end(): readonly Buffer[] {
    const rest = this.#form === "events" ? this.#audioIn(this.#events.end()) : this.#endHeld();
    if (this.#form === "events" && !this.#isOver) throw brokenOff();
    if (!this.#saidAnything && rest.length === 0 && this.#form !== "audio") throw upstreamFailed("its answer is empty");
    return rest;
  }

  #tellHeld(): readonly Buffer[] {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held;
  }

  #endHeld(): readonly Buffer[] {
    if (this.#heldBytes === 0 || this.#form === "audio") return this.#tellHeld();
    const bytes = Buffer.concat(this.#tellHeld());
    // Audio may begin like JSON.
    const json = parsedJson(bytes.toString());
    if (json === undefined) {
      if (this.#isText) throw notAudio();
      return [bytes];
    }
    const object = Array.isArray(json) ? json[0] : json;
    if (!isObject(object)) throw notAudio();
    const audio = namesError(object) ? undefined : audioOf(object);
    if (audio) return [audio];
    throw this.#refusalIn(object, bytes, "whole") ?? notAudio();
  }

  #audioIn(frames: readonly SseFrame[]): readonly Buffer[] {
    const audio: Buffer[] = [];
    for (const { event, data } of frames) {
      if (this.#isOver) break;
      this.#isOver = isDone(data);
      const json = parsedJson(data.toString());
      if (!isObject(json)) {
        if (event === "error") throw upstreamFailed("it answered with an error");
        continue;
      }
      const refusal = this.#refusalIn(json, data, event === "error" ? "error" : "frame");
      if (refusal) throw refusal;
      this.#isOver ||= typeof json.type === "string" && /(?:^|\.)(?:done|completed)$/.test(json.type);
      const piece = audioOf(json);
      if (piece) audio.push(piece);
    }
    this.#saidAnything ||= audio.length > 0;
    return audio;
  }
}

function notAudio(): Refusal {
  return upstreamFailed("it answered without audio");
}

/** isTextType reports a media type of text: audio that is labelled so is mislabelled, and anything else no audio. */
function isTextType(mediaType: string): boolean {
  return /^text\/|[/+](?:json|xml|x-ndjson)$/.test(mediaType);
}

/** beginnings are those of what is no audio. */
const beginnings: readonly (readonly [beginning: string, form: Form])[] = [
  ...["data:", "event:", "id:", "retry:", ": "].map((name) => [name, "events"] as const),
  ...["{", "["].map((open) => [open, "object"] as const),
  ...["<!doctype", "<html", "<?xml"].map((tag) => [tag, "page"] as const),
];
const longestBeginning = 16;

/** formOf returns undefined while too little has come to tell. */
function formOf(held: Buffer, isText: boolean): Form | undefined {
  const begun = held.subarray(0, longestBeginning).toString("latin1").toLowerCase();
  const text = isText ? begun.replace(/^(?:\u00ef\u00bb\u00bf)?\s*/, "") : begun;
  const found = beginnings.find(([beginning]) => text.startsWith(beginning));
  if (found) return found[1];
  if (beginnings.some(([beginning]) => beginning.startsWith(text))) return undefined;
  return isText && isPlainText(held.subarray(0, longestBeginning)) ? "page" : "audio";
}

/** isPlainText reports whether bytes have none that no text has. Nearly all audio begins with some. */
function isPlainText(bytes: Buffer): boolean {
  return bytes.every((byte) => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d));
}

/** audioKeys are the members that hold audio: OpenAI's, Together's, and those of Google, ElevenLabs and Mistral. */
const audioKeys = ["audio", "delta", "audioContent", "audio_base64", "audio_data"] as const;
/** aroundAudio are the members that vendors put around these: MiniMax and Alibaba, who have `data` for the audio itself as well. */
const aroundAudio = ["audio", "data", "output", "result"] as const;

/** audioOf returns the audio of an object; undefined without any. */
function audioOf(json: JsonObject, depth = 0, isOfAudio = false): Buffer | undefined {
  const keys = isOfAudio ? [...audioKeys, "data"] : audioKeys;
  const audio = keys.map((key) => json[key]).find(isFilledText);
  if (typeof audio === "string") return bytesOf(audio);
  for (const key of depth < 2 ? aroundAudio : []) {
    const inner = json[key];
    const found = isObject(inner) ? audioOf(inner, depth + 1, key === "audio") : undefined;
    if (found) return found;
  }
  return undefined;
}

/** bytesOf reads a data URL, hexadecimal digits or base64. Base64 of more than some bytes of audio has other letters, too. */
function bytesOf(text: string): Buffer {
  const digits = text.replace(/^data:[^,]{0,200},/, "");
  const isHex = digits.length % 2 === 0 && /^(?:[\da-f]+|[\dA-F]+)$/.test(digits);
  return isHex ? Buffer.from(digits, "hex") : Buffer.from(digits, "base64");
}
