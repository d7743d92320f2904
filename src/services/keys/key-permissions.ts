/**
 * Parses the models that a key may use: a list, a string with the JSON of one, or a single entry.
 *
 * Stored are ids of served models and `family:name`, without duplicates. Unknown names are refused: a misspelt
 * permission would otherwise only show when the key's first call is refused.
 */
import type { ModelPermissions } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { invalidValue } from "../../call/refusals.ts";
import type { Catalog } from "../../targets/catalog.ts";

/** maxEntries is the contract's limit of a list. A list sent as a string has not been checked against it. */
const maxEntries = 1000;
const maxLength = 210;

const familyPrefix = "family:";

/** readPermissions returns the permissions as stored: a JSON list, or null for all models. Throws a Refusal. */
export function readPermissions({ models }: ModelPermissions, catalog: Catalog): string | null {
  const entries = models.case === "list" ? models.value.entries : entriesOf(models.value ?? "");
  const names = entries.map((entry, i) => permittedName(entry, `models[${i}]`, catalog));
  return names.length === 0 ? null : JSON.stringify([...new Set(names)]);
}

function entriesOf(text: string): readonly unknown[] {
  const trimmed = text.trim();
  if (trimmed === "") return [];
  if (!trimmed.startsWith("[")) return [trimmed];
  const entries = parsed(trimmed);
  if (!Array.isArray(entries)) throw invalidValue("models", "expected a list of texts, or the JSON of one");
  if (entries.length > maxEntries) throw invalidValue("models", `expected at most ${maxEntries} entries`);
  return entries;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * permittedName returns the stored name of an entry, without the blanks around it: a model's id, or `family:name`. Throws a Refusal that
 * names `param`.
 */
export function permittedName(written: unknown, param: string, catalog: Catalog): string {
  const entry = typeof written === "string" ? written.trim() : written;
  if (typeof entry !== "string" || entry === "" || entry.length > maxLength || !entry.isWellFormed()) {
    throw invalidValue(param, `expected a text of 1 to ${maxLength} characters`);
  }
  if (!entry.startsWith(familyPrefix)) return modelId(entry, param, catalog);
  const family = entry.slice(familyPrefix.length);
  if (catalog.list().some((model) => model.family === family)) return entry;
  throw invalidValue(
    param,
    `there is no model family \`${family}\` here; \`GET /v1/models\` names those that there are`,
  );
}

function modelId(name: string, param: string, catalog: Catalog): string {
  try {
    return catalog.get(name).id;
  } catch {
    throw invalidValue(
      param,
      `there is no model \`${name}\` here; \`GET /v1/models\` lists those that there are, and \`family:NAME\` permits all of a family`,
    );
  }
}
