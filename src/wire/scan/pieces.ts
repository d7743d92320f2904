/**
 * Cuts a long JSON text into pieces while it is scanned, each small enough for one `JSON.parse` (`build.ts`), and
 * records where the top-level members stand.
 *
 * Lists and objects are cut at commas. A long list, object or string is a piece of its own.
 */
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import type { Member, Members } from "../splice.ts";
import { colon } from "./punctuation.ts";
import { parseText } from "./strings.ts";

/** Minimum length of a piece, in bytes. A range is less than twice as long. */
const pieceBytes = 32 * 1024;
const membersPerSlice = 512;

/** Range is a run of items or members with the commas between them. */
export interface Range {
  readonly kind: "range";
  readonly from: number;
  readonly to: number;
}

/** Text is a long string, quotes included. */
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

/** Name is the position of a member's name, quotes included. */
export interface Name {
  readonly from: number;
  readonly to: number;
}

/** OpenContainer is a list or object that is being scanned. */
class OpenContainer {
  isObject = false;
  start = 0;
  /** Start of the next range; -1 after a long piece, up to the comma. */
  from = 0;
  /** Start of the item or member that is being scanned. */
  itemFrom = 0;
  nameFrom = 0;
  nameTo = 0;
  pieces: Piece[] | undefined;
}

/** MemberSpan is the position of a top-level member: its name and its end. */
interface MemberSpan extends Name {
  readonly end: number;
}

export class Pieces {
  /** The top-level container after the scan; undefined where the text is no list and no object. */
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

  /** Handles a comma. */
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

  /** Returns the top-level members. Their values include the white space around them. */
  *members(bytes: Buffer): CooperativeTask<Members | undefined> {
    const members = new Map<string, Member>();
    for (const [i, named] of this.#named.entries()) {
      if (i % membersPerSlice === 0) yield;
      const key = nameIn(bytes, named);
      if (members.has(key)) return undefined;
      const { end } = named;
      members.set(key, { valueStart: bytes.indexOf(colon, named.to) + 1, valueEnd: end, end });
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

/** nameIn returns the name at a position. */
export function nameIn(bytes: Buffer, { from, to }: Name): string {
  return parseText(bytes.toString("utf8", from, to)) as string;
}
