/**
 * Cuts a long JSON text, while it is scanned, into pieces that `JSON.parse` reads in a moment each, and puts the value together
 * from them. What comes of it is what `JSON.parse` makes of the whole.
 *
 * A list or object is cut at its commas. One that is long itself, and so is a long text, is a piece of its own.
 */
import type { Work } from "../work.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { Steps } from "./steps.ts";
import { filler, isPlain, parsed } from "./texts.ts";

/** In bytes: what is as long is read by itself. A piece is less than twice as long. */
const pieceBytes = 32 * 1024;
/** A long text is read in parts of so many bytes. */
const partBytes = 256 * 1024;

/** Items or members that stand behind one another, with commas between them. */
interface Range {
  readonly kind: "range";
  readonly from: number;
  readonly to: number;
}

/** A text, with its quotes. */
interface Text {
  readonly kind: "text";
  readonly from: number;
  readonly to: number;
  name: Name | undefined;
}

interface Holder {
  readonly kind: "holder";
  readonly isObject: boolean;
  readonly pieces: readonly Piece[];
  name: Name | undefined;
}

type Piece = Range | Text | Holder;

/** Where the name of a member stands, with its quotes. */
interface Name {
  readonly from: number;
  readonly to: number;
}

/** A list or object that is being scanned. */
class Open {
  isObject = false;
  start = 0;
  /** Where the next range begins; -1 behind a long piece, up to the comma. */
  from = 0;
  /** Where the item or member begins that is being scanned. */
  itemFrom = 0;
  nameFrom = 0;
  nameTo = 0;
  pieces: Piece[] | undefined;
}

export class Pieces {
  /** The whole of it, once it is scanned: undefined where it is no list and no object. */
  whole: Holder | undefined;
  readonly #open: Open[] = [];

  open(depth: number, isObject: boolean, at: number): void {
    let open = this.#open[depth];
    if (!open) {
      open = new Open();
      this.#open[depth] = open;
    }
    open.isObject = isObject;
    open.start = at;
    open.from = open.itemFrom = at + 1;
    open.pieces = undefined;
  }

  name(depth: number, from: number, to: number): void {
    const open = this.#open[depth] as Open;
    open.nameFrom = from;
    open.nameTo = to;
  }

  /** A comma stands here. */
  next(depth: number, at: number): void {
    const open = this.#open[depth] as Open;
    if (open.from === -1) open.from = at + 1;
    else if (at - open.from >= pieceBytes) {
      open.pieces ??= [];
      open.pieces.push({ kind: "range", from: open.from, to: at });
      open.from = at + 1;
    }
    open.itemFrom = at + 1;
  }

  text(depth: number, from: number, to: number): void {
    if (to - from >= pieceBytes && depth > 0) this.#add(depth, { kind: "text", from, to, name: undefined });
  }

  close(depth: number, at: number): void {
    const { isObject, start, from, pieces = [] } = this.#open[depth] as Open;
    if (depth > 1 && at - start < pieceBytes) return;
    if (from !== -1) pieces.push({ kind: "range", from, to: at });
    const holder: Holder = { kind: "holder", isObject, pieces, name: undefined };
    if (depth === 1) this.whole = holder;
    else this.#add(depth - 1, holder);
  }

  #add(depth: number, piece: Text | Holder): void {
    const open = this.#open[depth] as Open;
    open.pieces ??= [];
    if (open.itemFrom > open.from) open.pieces.push({ kind: "range", from: open.from, to: open.itemFrom - 1 });
    if (open.isObject) piece.name = { from: open.nameFrom, to: open.nameTo };
    open.pieces.push(piece);
    open.from = -1;
  }
}

/** A long plain text that was left out of a value: where it stands, and what stands in its place. */
export interface LeftOut {
  readonly holder: JsonObject | JsonValue[];
  readonly key: string | number;
  readonly from: number;
  readonly to: number;
}

/** `leftOut` takes up the long plain texts that are not read; without it all are. */
export interface BuildOptions {
  readonly bytes: Buffer;
  readonly leftOut: LeftOut[] | undefined;
  readonly steps?: Steps | undefined;
}

/** Makes the value. Throws a WireFault. */
export function* build(piece: Holder, options: BuildOptions): Work<JsonObject | JsonValue[]> {
  const made: JsonObject | JsonValue[] = piece.isObject ? {} : [];
  for (const part of piece.pieces) {
    if (part.kind === "range") addRange(made, options, part);
    else {
      const key = Array.isArray(made) ? made.length : nameOf(part, options.bytes);
      const value = part.kind === "text" ? yield* textOf(part, key, made, options) : yield* build(part, options);
      put(made as Record<string | number, JsonValue>, key, value);
    }
    yield;
  }
  return made;
}

function nameOf({ name }: Text | Holder, bytes: Buffer): string {
  return parsed(bytes.toString("utf8", name?.from, name?.to)) as string;
}

function addRange(made: JsonObject | JsonValue[], { bytes, steps }: BuildOptions, { from, to }: Range): void {
  if (steps) steps.count += to - from;
  const text = bytes.toString("utf8", from, to);
  if (Array.isArray(made)) {
    for (const item of parsed(`[${text}]`) as JsonValue[]) made.push(item);
    return;
  }
  const members = parsed(`{${text}}`) as JsonObject;
  for (const key of Object.keys(members)) put(made, key, members[key] as JsonValue);
}

/** As the parser does: what is only set under this name becomes the prototype. */
function put(made: Record<string | number, JsonValue>, key: string | number, value: JsonValue): void {
  if (key !== "__proto__") made[key] = value;
  else Object.defineProperty(made, key, { value, configurable: true, enumerable: true, writable: true });
}

function* textOf(
  { from, to }: Text,
  key: string | number,
  holder: JsonObject | JsonValue[],
  { bytes, leftOut, steps = { count: 0 } }: BuildOptions,
): Work<string> {
  const text = bytes.subarray(from + 1, to - 1);
  if (yield* isPlainText(text, steps)) {
    if (!leftOut) return text.toString("latin1");
    leftOut.push({ holder, key, from: from + 1, to: to - 1 });
    return filler(text.length);
  }
  let read = "";
  for (let at = 0; at < text.length; ) {
    const end = endOfPart(text, at, steps);
    steps.count += end - at;
    read += parsed(`"${text.toString("utf8", at, end)}"`) as string;
    at = end;
    yield;
  }
  return read;
}

function* isPlainText(text: Buffer, steps: Steps): Work<boolean> {
  for (let at = 0; at < text.length; at += partBytes) {
    steps.count += Math.min(partBytes, text.length - at);
    if (!isPlain(text.subarray(at, at + partBytes))) return false;
    yield;
  }
  return true;
}

const backslash = 0x5c;

/** Returns where a part of a text ends that begins here: within no character and no escape. */
function endOfPart(text: Buffer, from: number, steps: Steps): number {
  let end = from + partBytes;
  if (end >= text.length) return text.length;
  while (((text[end] as number) & 0xc0) === 0x80) end--;
  return behindEscape(text, from, end, steps);
}

/** Of an escape the longest has six bytes. */
function behindEscape(text: Buffer, from: number, end: number, steps: Steps): number {
  for (let at = Math.max(from, end - 6); at < end; at++) {
    if (text[at] !== backslash) continue;
    let slashes = 1;
    while (at - slashes >= from && text[at - slashes] === backslash) slashes++;
    steps.count += slashes;
    // Whether this one begins an escape: those before it are pairs.
    if (slashes % 2 === 0) continue;
    const length = text[at + 1] === 0x75 ? 6 : 2;
    if (at + length > end) return at > from ? at : Math.min(text.length, at + length);
  }
  return end;
}

/** Puts the texts into their places. */
export function putIn(bytes: Buffer, leftOut: readonly LeftOut[]): void {
  for (const { holder, key, from, to } of leftOut) {
    (holder as Record<string | number, JsonValue>)[key] = bytes.toString("latin1", from, to);
  }
}
