/**
 * The settings that pages change, by section: where each is in a document, and how its field writes it. Keys are those of gateway.yaml; a
 * test holds them against its schema.
 */
import { isObject, isSame, type JsonObject, type JsonValue, numberOf, wordsOf } from "../../configuration/document.ts";

/**
 * FieldKind is how a field writes its value: a whole or a decimal number; an amount as a decimal in a text; a share as percent; bytes as
 * mebibytes; a text; or one of several words. `yes-no` is a boolean that may be left to the default.
 */
export type FieldKind =
  | "whole"
  | "decimal"
  | "amount"
  | "percent"
  | "mebibytes"
  | "text"
  | "choice"
  | "yes-no"
  | "model";

export interface Field {
  /** path is a key, or a key and a member with a dot between them. */
  readonly path: SettingPath;
  readonly kind: FieldKind;
  /** initial is the value that holds where nothing is written, as the schema has it; unset: none. */
  readonly initial?: number | string | boolean;
  readonly choices?: readonly string[];
}

export type SectionName = "people" | "money" | "answers" | "failing" | "cache" | "keeping" | "addresses";

export interface SettingSection {
  readonly name: SectionName;
  readonly fields: readonly Field[];
}

export const settingSections = [
  {
    name: "people",
    fields: [
      { path: "registration", kind: "choice", choices: ["open", "invitation", "closed"], initial: "invitation" },
      { path: "max_keys_per_account", kind: "whole", initial: 5000 },
      { path: "failed_credentials.per_minute", kind: "whole", initial: 30 },
    ],
  },
  {
    name: "money",
    fields: [
      { path: "catalogue_prices.dollar", kind: "amount" },
      { path: "catalogue_prices.markup", kind: "amount" },
    ],
  },
  {
    name: "answers",
    fields: [
      { path: "default_models.completion", kind: "model" },
      { path: "default_models.embedding", kind: "model" },
      { path: "embedded_models", kind: "yes-no" },
      { path: "disconnect_drain_seconds", kind: "decimal", initial: 5 },
    ],
  },
  {
    name: "failing",
    fields: [
      { path: "retries.attempts", kind: "whole", initial: 3 },
      { path: "retries.share", kind: "percent", initial: 0.15 },
      { path: "breaker.failures", kind: "whole", initial: 5 },
      { path: "breaker.open_seconds", kind: "decimal", initial: 5 },
      { path: "hedging.after_seconds", kind: "decimal" },
      { path: "hedging.share", kind: "percent", initial: 0.05 },
    ],
  },
  {
    name: "cache",
    fields: [
      { path: "cache.max_bytes", kind: "mebibytes" },
      { path: "cache.seconds", kind: "decimal", initial: 3600 },
      { path: "cache.price_share", kind: "percent", initial: 0 },
    ],
  },
  {
    name: "keeping",
    fields: [
      { path: "retention.requests_days", kind: "decimal" },
      { path: "retention.audit_days", kind: "decimal" },
      { path: "retention.refused_days", kind: "decimal", initial: 90 },
      { path: "responses.keep_hours", kind: "decimal", initial: 24 },
      { path: "responses.max_per_account", kind: "whole", initial: 1000 },
      { path: "responses.max_bytes", kind: "mebibytes", initial: 1_048_576 },
    ],
  },
  {
    name: "addresses",
    fields: [
      { path: "public_urls.root", kind: "text" },
      { path: "public_urls.direct", kind: "text" },
      { path: "public_urls.cdn", kind: "text" },
      { path: "public_urls.cn", kind: "text" },
    ],
  },
] as const satisfies readonly { readonly name: SectionName; readonly fields: readonly WrittenField[] }[];

/** WrittenField is a field whose path is not known yet to be one of all. */
type WrittenField = Omit<Field, "path"> & { readonly path: string };

export type SettingPath = (typeof settingSections)[number]["fields"][number]["path"];

/** keyOf returns the key of a path in a document. */
export function keyOf(path: string): string {
  return path.split(".")[0] ?? path;
}

export function valueAt(document: JsonObject | undefined, path: string): JsonValue | undefined {
  const [key = "", member] = path.split(".");
  const value = document?.[key];
  if (member === undefined) return value;
  return isObject(value) ? value[member] : undefined;
}

const mebibyte = 1024 ** 2;

/** writeValue formats a value for its field. */
export function writeValue(value: JsonValue | undefined, kind: FieldKind): string {
  if (value === undefined || value === null || typeof value === "object") return "";
  if (kind === "yes-no") return value === true ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  if (kind === "percent") return String(Number((value * 100).toPrecision(12)));
  return kind === "mebibytes" ? String(value / mebibyte) : String(value);
}

/** readValue reads a field; undefined for an empty one. What is no number stays a text, which the gateway refuses by its place. */
export function readValue(text: string, kind: FieldKind): JsonValue | undefined {
  if (text.trim() === "") return undefined;
  if (kind === "yes-no") return text === "yes";
  if (kind === "text" || kind === "choice" || kind === "model" || kind === "amount") return wordsOf(text);
  const number = numberOf(text);
  if (typeof number !== "number") return number;
  if (kind === "percent") return Number((number / 100).toPrecision(12));
  return kind === "mebibytes" ? Math.round(number * mebibyte) : number;
}

/** changedSettings returns the keys that differ from a document, each as a whole; null for one that is left to its default. */
export function changedSettings(
  document: JsonObject | undefined,
  fields: readonly Field[],
  values: Readonly<Record<string, string>>,
): JsonObject {
  const changed: Record<string, JsonValue> = {};
  for (const key of new Set(fields.map(({ path }) => keyOf(path)))) {
    const before = document?.[key];
    const after = keyed(before, key, fields, values);
    if (!isSame(before, after)) changed[key] = after ?? null;
  }
  return changed;
}

function keyed(
  before: JsonValue | undefined,
  key: string,
  fields: readonly Field[],
  values: Readonly<Record<string, string>>,
): JsonValue | undefined {
  const members = new Map(isObject(before) ? Object.entries(before) : []);
  for (const { path, kind } of fields) {
    if (keyOf(path) !== key) continue;
    const [, member] = path.split(".");
    const value = readValue(values[path] ?? "", kind);
    if (member === undefined) return value;
    if (value === undefined) members.delete(member);
    else members.set(member, value);
  }
  return members.size > 0 ? Object.fromEntries(members) : undefined;
}
