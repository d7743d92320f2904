/**
 * Finds duplicate members in the objects that a scan is inside of.
 *
 * Names are kept as positions in the text. In an object with few members they are compared by hash, then byte by
 * byte; in one with many members, or with an escaped name, they go into a Set.
 */

import { maxNameBytes } from "../bounds.ts";
import { WireFault } from "../fault.ts";
import { backslash, quote } from "./punctuation.ts";
import { notJson, readText } from "./strings.ts";
import { endOfText, TextEnds } from "./text-ends.ts";

/** Objects with more members use a Set. Comparing each with all takes quadratic time. */
const fewNames = 24;
/** A name takes three slots: its hash, its start and its end, quotes included. */
const placesOfName = 3;

/** The initial value of FNV, as a signed number. */
const firstHash = 0x811c9dc5 | 0;

function hashOfByte(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193);
}

const forbidden = "__proto__";
const forbiddenHash = Buffer.from(forbidden).reduce(hashOfByte, firstHash);

export class MemberNames {
  /** The first name of the open object at each depth. */
  readonly #first: Int32Array;
  readonly #many: (Set<string> | undefined)[] = [];
  #places = new Int32Array(placesOfName * 256);
  #count = 0;
  /** Bytes that the last `take` read more than once. */
  reread = 0;
  readonly #ends = new TextEnds();

  constructor(deepest: number) {
    this.#first = new Int32Array(deepest + 1);
  }

  clear(): void {
    this.#count = 0;
  }

  /** Bytes searched for the ends of names. */
  get searched(): number {
    return this.#ends.steps;
  }

  open(depth: number): void {
    this.#first[depth] = this.#count;
    this.#many[depth] = undefined;
  }

  close(depth: number): void {
    this.#count = this.#first[depth] as number;
  }

  /**
   * Takes the name that opens at `from` in the object at this depth. Returns its end. Throws a WireFault without a
   * path: a malformed one where no name stands there.
   */
  take(bytes: Uint8Array, depth: number, from: number): number {
    // FNV hash. Crafted collisions are compared byte by byte, which `fewNames` bounds.
    let hash = firstHash;
    this.reread = 0;
    for (let at = from + 1; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      if (byte === quote) {
        this.#add(bytes, depth, from, at + 1, hash, true);
        return at + 1;
      }
      if (byte === backslash) {
        this.#ends.begin(bytes);
        const end = endOfText(bytes, at - 1, this.#ends);
        if (end > bytes.length) throw notJson();
        if (end - from > maxNameBytes) throw tooLong();
        this.#add(bytes, depth, from, end, hash, false);
        return end;
      }
      hash = hashOfByte(hash, byte);
      if (at - from > maxNameBytes) throw tooLong();
    }
    throw notJson();
  }

  /** Adds a name. `hash` covers its bytes and is unused where it has escapes. */
  #add(bytes: Uint8Array, depth: number, from: number, to: number, hash: number, isPlain: boolean): void {
    const first = this.#first[depth] as number;
    const count = this.#count;
    const at = placesOfName * count;
    if (at + placesOfName > this.#places.length) this.#grow();
    const places = this.#places;
    places[at] = hash;
    places[at + 1] = from;
    places[at + 2] = to;
    this.#count = count + 1;
    const many = this.#many[depth];
    if (many || !isPlain || count - first >= fewNames) {
      this.#addToSet(many, bytes, depth, from, to);
      return;
    }
    if (hash === forbiddenHash && this.#isForbidden(bytes, from, to)) throw notAllowed();
    for (let known = placesOfName * first; known < at; known += placesOfName) {
      if (places[known] !== hash) continue;
      this.reread += to - from;
      if (isSame(bytes, places[known + 1] as number, places[known + 2] as number, from, to)) throw isTwice();
    }
  }

  /** Returns the name that was added last, or last before the object at depth `below` opened. */
  last(bytes: Uint8Array, below?: number): string {
    return this.#read(bytes, (below === undefined ? this.#count : (this.#first[below] as number)) - 1);
  }

  #read(bytes: Uint8Array, name: number): string {
    const place = placesOfName * name;
    return readText(bytes, this.#places[place + 1] as number, this.#places[place + 2] as number);
  }

  #isForbidden(bytes: Uint8Array, from: number, to: number): boolean {
    return readText(bytes, from, to) === forbidden;
  }

  #addToSet(known: Set<string> | undefined, bytes: Uint8Array, depth: number, from: number, to: number): void {
    const many = known ?? this.#startSet(bytes, depth);
    const name = readText(bytes, from, to);
    // Paths need only the last name once names are in a Set.
    const first = this.#first[depth] as number;
    this.#places[placesOfName * first + 1] = from;
    this.#places[placesOfName * first + 2] = to;
    this.#count = first + 1;
    if (name === forbidden) throw notAllowed();
    if (many.has(name)) throw isTwice();
    many.add(name);
    this.reread += to - from;
  }

  /** Moves the names of an object, except the last, into a Set. */
  #startSet(bytes: Uint8Array, depth: number): Set<string> {
    const many = new Set<string>();
    this.#many[depth] = many;
    for (let name = this.#first[depth] as number; name < this.#count - 1; name++) many.add(this.#read(bytes, name));
    return many;
  }

  #grow(): void {
    const grown = new Int32Array(2 * this.#places.length);
    grown.set(this.#places);
    this.#places = grown;
  }
}

function tooLong(): WireFault {
  return new WireFault("malformed", `a name is longer than ${maxNameBytes} bytes`);
}

function isTwice(): WireFault {
  return new WireFault("type", "the object has this member twice");
}

function notAllowed(): WireFault {
  return new WireFault("type", `the key \`${forbidden}\` is not allowed`);
}

function isSame(bytes: Uint8Array, aFrom: number, aTo: number, bFrom: number, bTo: number): boolean {
  if (aTo - aFrom !== bTo - bFrom) return false;
  for (let i = aTo - aFrom - 2; i > 0; i--) if (bytes[aFrom + i] !== bytes[bFrom + i]) return false;
  return true;
}
