/**
 * Writes the fields of answers as lines. Most have the value that they had in the answer before: their lines are reused, and their
 * values not checked again.
 */
import { checkFieldValue, type Fields } from "./fields.ts";

interface KnownLine {
  /** start is what stands before the value: the end of the line before, the name, a colon and a space. */
  readonly start: string;
  /** Reports that each value is valid and belongs to one answer: it is neither remembered nor checked. */
  readonly isFresh: boolean;
  /** The remembered value, and the line with it. */
  value: string | undefined;
  line: string;
  /** changes is how many other values have come since. */
  changes: number;
}

/** After so many other values the latest is remembered, as it may stay. */
const maxChanges = 64;
/** Longer values are not remembered. */
const maxValueLength = 200;
const maxNames = 200;

/** FieldLines remembers the last value of each field, and the line with it. */
export class FieldLines {
  readonly #known = new Map<string, KnownLine>();

  /** `fresh` names fields whose values are made for each answer, and never have forbidden characters. */
  constructor(fresh: readonly string[]) {
    for (const name of fresh) this.#known.set(name, newLine(name, true));
  }

  /**
   * Writes fields. Each line begins with the end of the line before. `more` overrides `fields`. Throws TypeError for a value with
   * forbidden characters.
   */
  write(fields: Readonly<Fields>, more: Readonly<Fields>): string {
    let text = "";
    for (const name in fields) if (more[name] === undefined) text = this.#add(text, name, fields[name] as string);
    for (const name in more) text = this.#add(text, name, more[name] as string);
    return text;
  }

  #add(text: string, name: string, value: string): string {
    const known = this.#known.get(name) ?? this.#learn(name);
    if (known.isFresh) return text + known.start + value;
    if (known.value === value) {
      known.changes = 0;
      return text + known.line;
    }
    checkFieldValue(name, value);
    if (known.value === undefined || ++known.changes === maxChanges) keep(known, value);
    return text + known.start + value;
  }

  #learn(name: string): KnownLine {
    const line = newLine(name, false);
    if (this.#known.size < maxNames) this.#known.set(name, line);
    return line;
  }
}

function newLine(name: string, isFresh: boolean): KnownLine {
  return { start: ["\r\n", name, ": "].join(""), isFresh, value: undefined, line: "", changes: 0 };
}

/** Remembers a value and its line. `join` makes them strings of their own, which keep no longer text in memory. */
function keep(known: KnownLine, value: string): void {
  known.changes = 0;
  if (value.length > maxValueLength) return;
  known.line = [known.start, value].join("");
  known.value = known.line.slice(known.start.length);
}
