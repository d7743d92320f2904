/** Makes the next document of a stored one and changes to it. What the file has is not changed here, and faults say so. */
import { type Fault, placed } from "../document.ts";
import { type Problem, problem } from "../fault-texts.ts";
import {
  entryName,
  entryPlace,
  isJson,
  isOperational,
  type Json,
  type JsonValue,
  type ListKey,
  listAt,
  withoutEmpty,
} from "./documents.ts";
import { type FilePart, fileHas } from "./merged.ts";

export type DocumentChange =
  | { readonly kind: "upstream"; readonly entry: Json }
  | { readonly kind: "remove_upstream"; readonly name: string }
  | { readonly kind: "model"; readonly entry: Json }
  | { readonly kind: "remove_model"; readonly name: string }
  | { readonly kind: "settings"; readonly settings: Json }
  | { readonly kind: "document"; readonly document: Json };

export interface Changed {
  readonly document: Json;
  readonly faults: readonly Fault[];
}

/** changeName is what faults call a document that is not stored yet. */
export const changeName = "the change";

/** applyChanges returns the document after the changes, in their order, with masks where they were sent. */
export function applyChanges(base: Json, changes: readonly DocumentChange[], file: FilePart): Changed {
  const faults: Fault[] = [];
  const document = changes.reduce((at, change) => applied(at, change, { file, faults }), base);
  return { document: withoutEmpty(document), faults };
}

interface Applying {
  readonly file: FilePart;
  readonly faults: Fault[];
}

function applied(document: Json, change: DocumentChange, applying: Applying): Json {
  switch (change.kind) {
    case "upstream":
      return withEntry(document, "upstreams", change.entry, applying);
    case "model":
      return withEntry(document, "models", change.entry, applying);
    case "remove_upstream":
      return withoutEntry(document, "upstreams", change.name, applying);
    case "remove_model":
      return withoutEntry(document, "models", change.name, applying);
    case "settings":
      return withSettings(document, change.settings, applying);
    case "document":
      refuseKeys(change.document, applying.faults);
      refuseVariables(change.document, "", applying.faults);
      return change.document;
  }
}

function withEntry(document: Json, key: ListKey, entry: Json, { file, faults }: Applying): Json {
  const name = entryName(key, entry);
  const place = `${key}[${name ?? ""}]`;
  if (name === undefined) {
    faults.push(faultOf(`${key}[].${key === "upstreams" ? "name" : "id"}`, problem("MISSING")));
    return document;
  }
  if (fileHas(file, key, name)) faults.push(faultOf(place, whereToChange(file)));
  refuseVariables(entry, place, faults);
  const list = listAt(document, key);
  const at = list.findIndex((one) => entryName(key, one) === name);
  return { ...document, [key]: at < 0 ? [...list, entry] : list.with(at, entry) };
}

function withoutEntry(document: Json, key: ListKey, name: string, { file, faults }: Applying): Json {
  const list = listAt(document, key);
  const left = list.filter((one) => entryName(key, one) !== name);
  if (left.length === list.length) {
    const what = fileHas(file, key, name) ? whereToChange(file) : problem("NOT_STORED");
    faults.push(faultOf(`${key}[${name}]`, what));
  }
  return { ...document, [key]: left };
}

function withSettings(document: Json, settings: Json, { file, faults }: Applying): Json {
  refuseKeys(settings, faults);
  const next = new Map<string, JsonValue>(Object.entries(document));
  for (const [key, value] of Object.entries(settings)) {
    if (key === "upstreams" || key === "models") {
      faults.push(faultOf(key, problem("LIST_AS_SETTING")));
      continue;
    }
    if (key !== "catalogue" && fileHas(file, key)) faults.push(faultOf(key, whereToChange(file)));
    refuseVariables(value, key, faults);
    if (value === null) next.delete(key);
    else next.set(key, value);
  }
  return Object.fromEntries(next);
}

/** refuseKeys adds a fault for each key that is no operational one. */
function refuseKeys(document: Json, faults: Fault[]): void {
  for (const key of Object.keys(document)) {
    if (!isOperational(key)) faults.push(faultOf(key, problem("NOT_OPERATIONAL")));
  }
}

/** whereToChange says where an entry is changed that cannot be changed here. */
function whereToChange({ name }: FilePart): Problem {
  return name === undefined ? problem("IN_ENVIRONMENT") : problem("IN_FILE", { file: name });
}

function faultOf(place: string, what: Problem): Fault {
  return { file: changeName, isStored: true, ...placed(place, what) };
}

/** refuseVariables adds a fault for each text that refers to the environment, which only the file may: it would let out any variable. */
function refuseVariables(value: JsonValue, place: string, faults: Fault[]): void {
  if (typeof value === "string") {
    if (/\$\{\w+\}/.test(value)) faults.push(faultOf(place, problem("VARIABLE_REFUSED")));
  } else if (Array.isArray(value)) {
    for (const [i, one] of (value as readonly JsonValue[]).entries())
      refuseVariables(one, entryPlace(place, one, i), faults);
  } else if (isJson(value)) {
    for (const [key, one] of Object.entries(value))
      refuseVariables(one, place === "" ? key : `${place}.${key}`, faults);
  }
}
