/**
 * A tool call's arguments as a model writes them → the input for a Messages client.
 *
 * Models sometimes write invalid JSON. That must not cost the caller the answer: anything but a JSON object that the
 * gateway can write again goes into `_raw` as text. A lone surrogate becomes U+FFFD.
 */
import { isObject, type JsonObject, type JsonValue, parsedJson, wholeRaw } from "../../wire/json.ts";
import { JsonReading } from "./json-reading.ts";

/** The depth of an input in an answer. */
const depth = 4;

export function readToolInput(written: string): JsonObject {
  if (written.trim() === "") return {};
  return objectIn(written) ?? { _raw: written };
}

/** emptyInput is what some servers write before the input of a call, and others as all of it. */
const emptyInput = "{}";
/** noInputs are what some models, and clients in PHP and R, write for a function without parameters. */
const noInputs: readonly string[] = ["null", "[]"];

/** isEmptyList reports whether a value is what PHP and R have for an empty object. */
export function isEmptyList(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.length === 0;
}

/**
 * ToolInput tracks an input that comes in pieces, and reports when it is a complete JSON object. Each character is
 * read once, and the text is parsed once.
 *
 * An empty object at the beginning is held until it is known that nothing follows. Servers that write the whole input again at the end,
 * as it was or as a JSON string, have written it once. An input that some models write as a JSON string is held until it has ended, and
 * told as the object in it. Of servers that write all of the input so far in each piece, the rest of it is told.
 *
 * A piece that begins with all that came may be that once more, or go on with the same characters. It is what leaves the input JSON. Where
 * both do, the piece is held: what comes next cannot be both, unless it is blank, and of both no more than one is whole in the end.
 */
export class ToolInput {
  #text = "";
  /** To look through the text for more than white space with each piece would put it together anew. */
  #isBlank = true;
  /** The complete text, to which what follows is compared. */
  #whole = "";
  /** again is how much of the complete text has been repeated so far. */
  #again = 0;
  #holdsEmpty = false;
  /** A JSON string that has not ended; undefined without one. */
  #quoted: string | undefined;
  #quotedEnd = "";
  #isQuoted = false;
  #reading = new JsonReading();
  /** Whether each piece has all of the input so far. */
  #isCumulative = false;
  /** #undecided holds the pieces behind the text while they may be read in two ways; undefined where there are none. */
  #undecided: Undecided | undefined;
  /** Undefined until the outermost bracket has closed. */
  #isWhole: boolean | undefined;

  get isComplete(): boolean {
    return this.#isWhole ?? false;
  }

  /** mayBeComplete is whether the input is complete by one of the ways in which it may be read. */
  get mayBeComplete(): boolean {
    return this.isComplete || wholeOf(this.#undecided) !== undefined;
  }

  /** isUnderWay is whether an input has begun that cannot be complete. */
  get isUnderWay(): boolean {
    return this.#isWhole === undefined && !this.#isBlank && !this.mayBeComplete;
  }

  /** hasBegun is whether more has come than nothing, or than an empty object in place of which an input may follow. */
  get hasBegun(): boolean {
    return !this.isAbsent && !this.#holdsEmpty;
  }

  /** isQuoted is whether the input is written as a JSON string. */
  get isQuoted(): boolean {
    return this.#isQuoted;
  }

  /** isAbsent is whether nothing of an input has come. */
  get isAbsent(): boolean {
    return this.#isWhole === undefined && this.#isBlank && this.#quoted === undefined;
  }

  /** add takes a piece, and returns what may be told now. An empty object at the beginning is held, and a repetition is left out. */
  add(piece: string): string {
    if (this.#holdsEmpty) return this.#addToEmpty(piece);
    const isFirst = this.#text === "" && this.#isWhole === undefined;
    if (this.#quoted !== undefined || (isFirst && piece.trimStart().startsWith('"'))) return this.#addQuoted(piece);
    if (isFirst && [emptyInput, ...noInputs].includes(piece.trim())) {
      this.#holdsEmpty = true;
      this.#isWhole = true;
      return "";
    }
    if (this.#isWhole && (piece.trim() !== "" || this.#again > 0)) return this.#addBeyond(piece);
    if (this.#undecided) return this.#addToUndecided(this.#undecided, piece);
    if (!this.#isAllSoFar(piece)) return this.#tell(piece);
    return this.#addUndecided(
      { added: "", all: this.#text, asAdded: this.#reading.fork(), asAll: this.#reading.fork() },
      piece,
    );
  }

  /**
   * #isAllSoFar reports whether a piece has all that came before it. One that is shorter than what came is not compared, so that no more is
   * read than has come.
   */
  #isAllSoFar(piece: string): boolean {
    if (this.#isWhole !== undefined || this.#isBlank || piece.length < this.#text.length) return false;
    return piece.startsWith(this.#text) && this.#text.trimStart().startsWith("{");
  }

  #addToUndecided(undecided: Undecided, piece: string): string {
    if (piece === "") return "";
    if (piece.startsWith(undecided.all)) return this.#addUndecided(undecided, piece);
    if (undecided.asAll.isWhole && piece.trim() === "") {
      this.#undecided = { ...undecided, added: undecided.added + piece, asAdded: undecided.asAdded.readAll(piece) };
      return "";
    }
    if (undecided.asAll.isWhole && this.repeats(piece)) return this.#tellAll(undecided.all);
    this.#undecided = undefined;
    return this.#tell(undecided.added) + this.add(piece);
  }

  /** #addUndecided decides how a piece is read that has all that came, and holds it where it may be read in two ways. */
  #addUndecided({ added, all, asAdded, asAll }: Undecided, piece: string): string {
    asAll.readAll(piece.slice(all.length));
    asAdded.readAll(piece);
    this.#undecided = undefined;
    if (this.#isCumulative || !asAdded.isValid) return this.#tellAll(piece);
    if (!asAll.isValid) return this.#tell(added + piece);
    this.#undecided = { added: added + piece, all: piece, asAdded, asAll };
    return "";
  }

  #tellAll(all: string): string {
    this.#undecided = undefined;
    this.#isCumulative = true;
    return this.#tell(all.slice(this.#text.length));
  }

  #tell(piece: string): string {
    this.#read(piece);
    return piece;
  }

  /** rest returns what was held to the end. */
  rest(): string {
    const quoted = this.#quoted ?? "";
    this.#quoted = undefined;
    if (this.#undecided?.asAll.isWhole) return this.#tellAll(this.#undecided.all);
    const { added } = this.#undecided ?? {};
    this.#undecided = undefined;
    if (added !== undefined) return this.#tell(added);
    if (!this.#holdsEmpty) return quoted;
    this.#holdsEmpty = false;
    this.#whole = emptyInput;
    return emptyInput;
  }

  /** Reports whether a piece is the whole input once more. */
  repeats(piece: string): boolean {
    const whole = this.#holdsEmpty ? emptyInput : (wholeOf(this.#undecided, this.#text)?.trim() ?? this.#whole);
    return whole !== "" && (piece.trim() === whole || parsedJson(piece) === whole);
  }

  #addQuoted(piece: string): string {
    this.#isQuoted = true;
    this.#quoted = (this.#quoted ?? "") + piece;
    // To look at the end of all that came would put it together anew with each piece.
    this.#quotedEnd = (this.#quotedEnd + piece).slice(-longestEnd);
    const inner = endsObject.test(this.#quotedEnd) ? objectTextIn(this.#quoted) : undefined;
    if (inner === undefined) return "";
    this.#quoted = undefined;
    this.#read(inner);
    return inner;
  }

  #addToEmpty(piece: string): string {
    if (["", ...noInputs].includes(piece.trim()) || this.repeats(piece)) return "";
    this.#holdsEmpty = false;
    this.#isWhole = undefined;
    const begun = piece.trimStart().startsWith("{") ? piece : emptyInput + piece;
    this.#read(begun);
    return begun;
  }

  #addBeyond(piece: string): string {
    const next = this.#again === 0 ? piece.trimStart() : piece;
    if (this.#again === 0 && this.repeats(next)) return "";
    const rest = this.#whole.length - this.#again;
    if (this.#whole.startsWith(next.length > rest ? next.trimEnd() : next, this.#again)) {
      this.#again = next.trimEnd().length >= rest ? 0 : this.#again + next.length;
      return "";
    }
    const said = this.#whole.slice(0, this.#again) + next;
    this.#again = 0;
    this.#isWhole = false;
    return said;
  }

  #read(piece: string): void {
    if (this.#isWhole === undefined) {
      this.#text += piece;
      this.#isBlank &&= piece.trim() === "";
    }
    for (let i = 0; i < piece.length; i++) this.#next(piece.charAt(i), piece, i);
  }

  #next(character: string, piece: string, i: number): void {
    if (this.#isWhole !== undefined) {
      // Only white space may follow.
      if (character.trim() !== "") this.#isWhole = false;
    } else if (this.#reading.read(character)) this.#close(piece.length - i - 1);
  }

  /** Closes the text, which has this many characters too many. */
  #close(beyond: number): void {
    const text = this.#text.slice(0, this.#text.length - beyond);
    this.#isWhole = text.endsWith("}") && parsedJson(text) !== undefined;
    if (this.#isWhole) this.#whole = text.trim();
    this.#text = "";
  }
}

/** Undecided are pieces that either go on where the text ends, or each repeat the text from its beginning and go on from there. */
interface Undecided {
  /** All pieces of it. */
  readonly added: string;
  /** The last piece, which has the text and all other pieces. */
  readonly all: string;
  readonly asAdded: JsonReading;
  readonly asAll: JsonReading;
}

/** wholeOf returns the complete input that an undecided one is, behind a text, where one way to read it makes it complete. */
function wholeOf(undecided: Undecided | undefined, text = ""): string | undefined {
  if (undecided?.asAll.isWhole) return undecided.all;
  return undecided?.asAdded.isWhole ? text + undecided.added : undefined;
}

/** endsObject finds the end of a JSON string with an object in it; `longestEnd` is how many characters are looked at for that. */
const endsObject = /\}\s*(?:\\[nrt]\s*)*"\s*$/;
const longestEnd = 20;

/** objectTextIn returns the JSON of the object that is written as a JSON string; undefined where it is anything else. */
function objectTextIn(written: string): string | undefined {
  const text = parsedJson(written);
  return typeof text === "string" && isObject(parsedJson(text)) ? text.trim() : undefined;
}

/** plainInput returns a whole input as clients read it: JSON of an object that is no JSON string, where it can be told. */
export function plainInput(written: string): string {
  const input = new ToolInput();
  return input.add(written) + input.rest();
}

function objectIn(written: string): JsonObject | undefined {
  const outer = parsedJson(written, true);
  // Some models write the object as a JSON string.
  const value = typeof outer === "string" ? parsedJson(outer, true) : outer;
  if (value === null || isEmptyList(value)) return {};
  if (!isObject(value)) return undefined;
  try {
    return wholeRaw(value, depth) as JsonObject;
  } catch {
    return undefined;
  }
}
