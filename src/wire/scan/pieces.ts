/**
 * Cuts a long JSON text, while it is scanned, into pieces that `JSON.parse` reads in a moment each (`build.ts`), and finds where
 * the members of the whole stand.
 *
 * A list or object is cut at its commas. One that is long itself, and so is a long text, is a piece of its own.
 */
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import type { Member, Members } from "../splice.ts";
import { colon } from "./signs.ts";
import { parseText } from "./texts.ts";

/** In bytes: what is as long is read by itself. A piece is less than twice as long. */
const pieceBytes = 32 * 1024;
const membersATurn = 512;

/** Items or members that stand behind one another, with commas between them. */
export interface Range {
  readonly kind: "range";
  readonly from: number;
  readonly to: number;
}

/** A text, with its quotes. */
export interface Text {
  readonly kind: "text";
  readonly from: number;
  readonly to: number;
  name: Name | undefined;
}

export interface Container {
  readonly kind: "holder";
  readonly isObject: boolean;
  readonly pieces: readonly Piece[];
  name: Name | undefined;
}

type Piece = Range | Text | Container;

/** Where the name of a member stands, with its quotes. */
export interface Name {
  readonly from: number;
  readonly to: number;
}

/** A list or object that is being scanned. */
class OpenContainer {
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

/** A member of the whole: where its name stands, and where it ends. */
interface MemberSpan extends Name {
  readonly end: number;
}

export class Pieces {
  /** The whole of it, once it is scanned: undefined where it is no list and no object. */
  root: Container | undefined;
  readonly #open: OpenContainer[] = [];
  readonly #named: MemberSpan[] = [];

  open(depth: number, isObject: boolean, at: number): void {
    let open = this.#open[depth];
    if (!open) {
      open = new OpenContainer();
      this.#open[depth] = open;
    }
    open.isObject = isObject;
    open.start = at;
    open.from = open.itemFrom = at + 1;
    open.pieces = undefined;
  }

  name(depth: number, from: number, to: number): void {
    const open = this.#open[depth] as OpenContainer;
    open.nameFrom = from;
    open.nameTo = to;
  }

  /** A comma stands here. */
  next(depth: number, at: number): void {
    const open = this.#open[depth] as OpenContainer;
    if (depth === 1) this.#memberEnds(open, at);
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
    const open = this.#open[depth] as OpenContainer;
    const { isObject, start, from, pieces = [] } = open;
    if (depth === 1 && at > open.itemFrom) this.#memberEnds(open, at);
    if (depth > 1 && at - start < pieceBytes) return;
    if (from !== -1) pieces.push({ kind: "range", from, to: at });
    const holder: Container = { kind: "holder", isObject, pieces, name: undefined };
    if (depth === 1) this.root = holder;
    else this.#add(depth - 1, holder);
  }

  #memberEnds({ isObject, nameFrom, nameTo }: OpenContainer, at: number): void {
    if (isObject && nameTo > 0) this.#named.push({ from: nameFrom, to: nameTo, end: at });
  }

  /** Finds the members of the whole, which is an object. Their values are taken with the white space around them. */
  *members(bytes: Buffer): CooperativeTask<Members | undefined> {
    const members = new Map<string, Member>();
    for (const [i, named] of this.#named.entries()) {
      if (i % membersATurn === 0) yield;
      const key = nameIn(bytes, named);
      if (members.has(key)) return undefined;
      const { end } = named;
      members.set(key, { valueStart: bytes.indexOf(colon, named.to) + 1, valueEnd: end, end: end });
    }
    return members;
  }

  #add(depth: number, piece: Text | Container): void {
    const open = this.#open[depth] as OpenContainer;
    open.pieces ??= [];
    if (open.itemFrom > open.from) open.pieces.push({ kind: "range", from: open.from, to: open.itemFrom - 1 });
    if (open.isObject) piece.name = { from: open.nameFrom, to: open.nameTo };
    open.pieces.push(piece);
    open.from = -1;
  }
}

/** Returns the name that stands there. */
export function nameIn(bytes: Buffer, { from, to }: Name): string {
  return parseText(bytes.toString("utf8", from, to)) as string;
}
