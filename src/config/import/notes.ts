/** Collects what an import leaves out, changes, or leaves to the person. No note quotes a value that could be a secret. */
import type { Place } from "./source.ts";

/** Note is one of them, with all the places that it is about. */
export interface Note {
  readonly kind: "left out" | "changed" | "to do";
  readonly message: string;
  readonly places: readonly Place[];
}

export interface Notes {
  /** leftOut notes what has no counterpart, and what to do instead. */
  leftOut(place: Place, message: string): void;
  /** changed notes what works in another way from now on. */
  changed(place: Place, message: string): void;
  /** toDo notes what the person has to do before the gateway starts. */
  toDo(place: Place, message: string): void;
  /** all returns the notes, in the order of their first places. */
  all(): Note[];
}

export function createNotes(): Notes {
  const notes = new Map<string, Note & { readonly places: Place[] }>();
  const add = (kind: Note["kind"]) => (place: Place, said: string) => {
    // Names of the file stay within the line.
    const message = said.replace(/[\p{Cc}\u2028\u2029]+/gu, " ");
    const key = `${kind} ${message}`;
    const before = notes.get(key);
    if (!before) notes.set(key, { kind, message, places: [place] });
    else if (!before.places.some(({ file, line }) => file === place.file && line === place.line)) {
      before.places.push(place);
    }
  };
  return {
    leftOut: add("left out"),
    changed: add("changed"),
    toDo: add("to do"),
    all: () => [...notes.values()].sort((a, b) => order(a) - order(b) || compareFirst(a, b)),
  };
}

/** noteUnpriced notes that a person has to give a model its price. */
export function noteUnpriced(notes: Notes, place: Place, model: string): void {
  notes.toDo(place, `"${model}": no price is known. Give it one, or say in unpriced_models what such models cost`);
}

const kinds: readonly Note["kind"][] = ["to do", "changed", "left out"];
const order = ({ kind }: Note) => kinds.indexOf(kind);

function compareFirst({ places: [a] }: Note, { places: [b] }: Note): number {
  if (!a || !b || a.file !== b.file) return 0;
  return a.line - b.line;
}

/** noteText returns a note in one line: `config.yaml:3, 12: left out: …`. `nameOf` shortens the file's path. */
export function noteText({ kind, message, places }: Note, nameOf = (file: string) => file): string {
  let text = "";
  let file = "";
  for (const place of places) {
    text += `${text === "" ? "" : ", "}${place.file === file ? "" : `${nameOf(place.file)}:`}${place.line}`;
    file = place.file;
  }
  return `${text}: ${kind}: ${message}`;
}
