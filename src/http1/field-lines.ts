/**
 * The fields of answers as lines. Most say what they said in the answer before: such a line is taken as it was written, and
 * its value is not looked through again.
 */
import { checkFieldValue, type Fields } from "./fields.ts";

interface KnownLine {
  /** Up to the value: the end of the line before, the name, a colon and a space. */
  readonly start: string;
  /** Whether its values are sound and of one answer only: neither are they kept nor looked through. */
  readonly isFresh: boolean;
  /** A value that it had, and the line with that. */
  value: string | undefined;
  line: string;
  /** How many other values came since. */
  changes: number;
}

/** A value that changes is kept now and then, for it may stay. */
const changesLet = 64;
/** Of a longer one nothing is kept. */
const longestKept = 200;
const mostNames = 200;

export class FieldLines {
  readonly #known = new Map<string, KnownLine>();

  /** Takes the names of fields whose values are made anew for each answer, of letters, digits and signs that values may have. */
  constructor(fresh: readonly string[]) {
    for (const name of fresh) this.#known.set(name, newLine(name, true));
  }

  /**
   * Writes fields, each on a line that begins with the end of the one before; what `more` says holds where both say it. Throws
   * TypeError for a value with characters that none has.
   */
  write(fields: Readonly<Fields>, more: Readonly<Fields>): string {
    let text = "";
    for (const name in fields) if (more[name] === undefined) text = this.#add(text, name, fields[name] as string);
    for (const name in more) text = this.#add(text, name, more[name] as string);
    return text;
  }

  #add(text: string, name: string, value: string): string {
    const known = this.#known.get(name) ?? this.#meet(name);
    if (known.isFresh) return text + known.start + value;
    if (known.value === value) {
      known.changes = 0;
      return text + known.line;
    }
    checkFieldValue(name, value);
    if (known.value === undefined || ++known.changes === changesLet) keep(known, value);
    return text + known.start + value;
  }

  #meet(name: string): KnownLine {
    const line = newLine(name, false);
    if (this.#known.size < mostNames) this.#known.set(name, line);
    return line;
  }
}

function newLine(name: string, isFresh: boolean): KnownLine {
  return { start: ["\r\n", name, ": "].join(""), isFresh, value: undefined, line: "", changes: 0 };
}

/** What is joined is one piece of memory, and of no other text. */
function keep(known: KnownLine, value: string): void {
  known.changes = 0;
  if (value.length > longestKept) return;
  known.line = [known.start, value].join("");
  known.value = known.line.slice(known.start.length);
}
