/**
 * Joins what the file has with what is stored. The file wins: an upstream of a name, a model of an id, or any other key that it has is
 * served as the file has it. Faults are told of each by its own place: a line of the file, or the place in the stored document.
 */
import { type ConfigDocument, type Fault, type Path, placed } from "../document.ts";
import type { Problem } from "../fault-texts.ts";
import type { UpstreamConfig } from "../schema-models.ts";
import {
  entryName,
  entryPlace,
  isJson,
  isListKey,
  isOperational,
  type Json,
  type JsonValue,
  type ListKey,
  listAt,
  listKeys,
  memberOf,
  placeOf,
  plainJson,
  type StoredDocument,
} from "./documents.ts";

/** FilePart is what is configured beside the stored document, and cannot be changed by RPC. */
export interface FilePart {
  /** name is the path of gateway.yaml; undefined: there is none, and the upstreams are those that the environment gives. */
  readonly name: string | undefined;
  /** document has its operational keys, variables replaced. */
  readonly document: Json;
}

/** filePart returns the operational keys of the file, or the upstreams of the environment where there is no file. */
export function filePart(name: string | undefined, value: unknown, ofEnvironment: readonly UpstreamConfig[]): FilePart {
  if (name !== undefined) {
    const kept = Object.entries(isJson(value) ? plainJson(value) : {}).filter(([key]) => isOperational(key));
    return { name, document: Object.fromEntries(kept) };
  }
  // Their profile follows from their vendor, and is joined to it where they are read.
  const upstreams = ofEnvironment.map(({ profile: _, ...upstream }) => plainJson(upstream));
  return { name, document: upstreams.length > 0 ? { upstreams } : {} };
}

/** fileHas reports whether the file has an entry of a list, or another key. */
export function fileHas({ document }: FilePart, key: string, name?: string): boolean {
  if (name === undefined) return memberOf(document, key) !== undefined;
  return listAt(document, key).some((entry) => entryName(key, entry) === name);
}

export interface Merged {
  readonly document: ConfigDocument;
  readonly effective: Json;
  /** shadowed are the places of the stored document that are not served, since the file has them. */
  readonly shadowed: readonly string[];
}

/** mergedDocument joins the file, whose text `written` knows the lines of, with what is stored. */
export function mergedDocument(file: FilePart, stored: StoredDocument, written: ConfigDocument | undefined): Merged {
  const lists = listKeys.map((key) => [key, listOf(key, file, stored.document)] as const);
  const ofStored = Object.entries(stored.document).filter(([key]) => !isListKey(key));
  const others = ofStored.filter(([key]) => !fileHas(file, key));
  const shadowed = [
    ...lists.flatMap(([, { shadowed }]) => shadowed),
    ...ofStored.filter(([key]) => fileHas(file, key)).map(([key]) => key),
  ];
  const joined = Object.fromEntries(lists.flatMap(([key, { all }]) => (all.length > 0 ? [[key, all] as const] : [])));
  const effective: Json = { ...file.document, ...Object.fromEntries(others), ...joined };
  const bound = isJson(written?.value) ? written.value : {};
  const value = { ...bound, ...effective };
  const counts = new Map<string, number>(lists.map(([key, { ofFile }]) => [key, ofFile]));
  const isOfFile = ([top, index]: Path) => {
    const key = String(top);
    if (!isListKey(key)) return fileHas(file, key) || !isOperational(key);
    return typeof index !== "number" || index < (counts.get(key) ?? 0);
  };
  return { document: documentOf({ value, effective, stored, written, isOfFile }), effective, shadowed };
}

interface JoinedList {
  readonly all: readonly JsonValue[];
  /** ofFile is how many of them, the first ones, are the file's. */
  readonly ofFile: number;
  readonly shadowed: readonly string[];
}

function listOf(key: ListKey, file: FilePart, stored: Json): JoinedList {
  const [own, others] = [listAt(file.document, key), listAt(stored, key)];
  const taken = new Set(own.map((entry) => entryName(key, entry)));
  const isTaken = (entry: JsonValue) => {
    const name = entryName(key, entry);
    return name !== undefined && taken.has(name);
  };
  return {
    all: [...own, ...others.filter((entry) => !isTaken(entry))],
    ofFile: own.length,
    shadowed: others.filter(isTaken).map((entry, i) => entryPlace(key, entry, i)),
  };
}

interface Parts {
  readonly value: unknown;
  readonly effective: Json;
  readonly stored: StoredDocument;
  readonly written: ConfigDocument | undefined;
  readonly isOfFile: (path: Path) => boolean;
}

function documentOf({ value, effective, stored, written, isOfFile }: Parts): ConfigDocument {
  const file = storedName(stored.version);
  const storedFault = (path: Path, what: Problem): Fault => ({
    ...{ file, isStored: true },
    ...placed(placeOf(effective, path), what),
  });
  return {
    value,
    faults: [],
    excused: written?.excused ?? [],
    faultAt: (path, what) => (written && isOfFile(path) ? written.faultAt(path, what) : storedFault(path, what)),
    keyFaultAt: (path, what) => (written && isOfFile(path) ? written.keyFaultAt(path, what) : storedFault(path, what)),
    writtenAt: (path) => (written && isOfFile(path) ? written.writtenAt(path) : textAt(effective, path)),
    isUnset: (path) => written !== undefined && isOfFile(path) && written.isUnset(path),
  };
}

/** storedName returns what faults call a stored document. */
export function storedName(version: number): string {
  return `version ${version} of the configuration`;
}

/** textAt returns the text at a path: names are asked for, never a secret. */
function textAt(document: JsonValue, path: Path): string {
  const value = path.reduce<JsonValue | undefined>(
    (at, step) => (at as Record<PropertyKey, JsonValue>)?.[step],
    document,
  );
  return typeof value === "string" ? value : "";
}
