/**
 * Reads the YAML file of another gateway, with the place of every value. Numbers keep the text that they are written with, so that
 * prices stay exact. Files that it includes are read, too, and joined to it.
 */
import { dirname, join } from "node:path";
import { Alias, type Document, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, type Scalar } from "yaml";
import { codeOf, fileRemedy } from "../../runtime/write-trouble.ts";
import { ConfigError } from "../config-error.ts";

/** Place is where a value is written. `line` counts from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
}

/** Source is a value of the file. */
export interface Source extends Place {
  /** scalar is the value; undefined for maps and lists. */
  readonly scalar?: string | number | boolean | null | undefined;
  /** text is a scalar as it is written, without quotes. */
  readonly text?: string | undefined;
  /** members are the values of a map, by their keys. */
  readonly members?: ReadonlyMap<string, Source> | undefined;
  /** items are the values of a list. */
  readonly items?: readonly Source[] | undefined;
}

/** ReadText returns the text of a file. Throws where it cannot be read. */
export type ReadText = (file: string) => string;

/** maxDepth bounds files that include each other. */
const maxDepth = 8;

/** readSource reads a file and what it includes. Throws a ConfigError. */
export function readSource(file: string, readText: ReadText, depth = 0): Source {
  const fault = (message: string, line?: number) => new ConfigError([{ file, message, ...(line && { line }) }]);
  let text: string;
  try {
    text = readText(file);
  } catch (error) {
    throw fault(`the file cannot be read (${codeOf(error)}): ${fileRemedy(error)}`);
  }
  const lines = new LineCounter();
  // Version 1.1 is what Python's readers take: `yes` is true, and `<<` merges.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, version: "1.1", merge: true });
  const [broken] = document.errors.filter(({ code }) => code !== "DUPLICATE_KEY");
  if (broken) throw fault(broken.message.replace(/ token in YAML stream: .*/s, ""), lines.linePos(broken.pos[0]).line);
  const root = sourceOf(document, file, lines);
  if (!root.members) throw fault("it is no object with keys. Name the file that `model-gateway help import` describes");
  return withIncluded(root, (path) => {
    if (depth >= maxDepth) throw fault(`more than ${maxDepth} files include each other`);
    return readSource(join(dirname(file), path), readText, depth + 1);
  });
}

/** withIncluded joins included files: their lists are added to those of the same key, other values take their place. */
function withIncluded(root: Source, read: (path: string) => Source): Source {
  const members = new Map(root.members);
  for (const { scalar } of members.get("include")?.items ?? []) {
    for (const [key, value] of read(String(scalar)).members ?? []) {
      const before = members.get(key);
      const isAdded = before?.items !== undefined && value.items !== undefined;
      members.set(key, isAdded ? { ...before, items: [...(before.items ?? []), ...(value.items ?? [])] } : value);
    }
  }
  members.delete("include");
  return { ...root, members };
}

function sourceOf(document: Document.Parsed, file: string, lines: LineCounter): Source {
  // A node that several aliases name is converted once: a small file cannot become a large one.
  const known = new Map<Node, Source>();
  const convert = (node: unknown): Source => {
    const resolved = node instanceof Alias ? node.resolve(document) : (node as Node | null | undefined);
    const place = { file, line: lines.linePos((node as Node | undefined)?.range?.[0] ?? 0).line };
    if (!resolved) return { ...place, scalar: null };
    const before = known.get(resolved);
    if (before) return before;
    // A node within itself is empty there.
    known.set(resolved, { ...place, scalar: null });
    const source = { ...place, ...contentOf(resolved, convert) };
    known.set(resolved, source);
    return source;
  };
  return convert(document.contents);
}

function contentOf(node: Node, convert: (node: unknown) => Source): Omit<Source, keyof Place> {
  if (isScalar(node)) return scalarOf(node);
  if (isSeq(node)) return { items: node.items.map(convert) };
  if (!isMap(node)) return { scalar: null };
  const members = new Map<string, Source>();
  const merged = new Map<string, Source>();
  for (const { key, value } of node.items) {
    const name = isScalar(key) ? String(key.source ?? key.value) : "";
    const source = value === null ? { ...convert(key), scalar: null, text: "" } : convert(value);
    if (name !== "<<") {
      members.set(name, source);
      continue;
    }
    const maps = source.items ?? [source];
    for (const [inner, of] of maps.flatMap((map) => [...(map.members ?? [])])) merged.set(inner, of);
  }
  return { members: new Map([...merged, ...members]) };
}

function scalarOf({ value, source }: Scalar): Omit<Source, keyof Place> {
  const text = source ?? String(value ?? "");
  // A version such as 2024-10-21 is a date by the rules of YAML 1.1.
  if (value instanceof Date) return { scalar: text, text };
  const isSimple = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return { scalar: isSimple ? value : null, text };
}

/** memberOf returns the value at a path; undefined where there is none, or null. */
export function memberOf(source: Source | undefined, ...path: readonly string[]): Source | undefined {
  const found = path.reduce<Source | undefined>((at, key) => at?.members?.get(key), source);
  return found?.scalar === null ? undefined : found;
}

/** textOf returns a string, also of a number as it is written; undefined for anything else. */
export function textOf(source: Source | undefined): string | undefined {
  if (typeof source?.scalar === "string") return source.scalar.trim();
  return typeof source?.scalar === "number" ? source.text : undefined;
}

/** numberOf returns a number, also of a string that is one; undefined for anything else. */
export function numberOf(source: Source | undefined): number | undefined {
  const number = Number(textOf(source) || Number.NaN);
  return Number.isFinite(number) ? number : undefined;
}

/** isOn returns whether a value is true, also as a word. */
export function isOn(source: Source | undefined): boolean {
  return source?.scalar === true || /^(?:true|yes|on|1)$/i.test(textOf(source) ?? "");
}

/** isOff returns whether a value asks for nothing: false, null, 0, an empty text, list or map. */
export function isOff({ scalar, items, members }: Source): boolean {
  return !(items?.length || members?.size || (scalar && !/^(?:false|no|off|none)$/i.test(String(scalar))));
}
