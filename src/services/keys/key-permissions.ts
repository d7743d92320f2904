/**
 * Which models a key may use, as a request says it: a list, a text that holds the JSON of one, or a single entry.
 *
 * What is kept are ids of models that are served and `family:name`, each once. What is neither is refused by its name: a
 * misspelt permission would otherwise be found when the key is refused what it was made for.
 */
import type { ModelPermissions } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { invalidValue } from "../../call/refusals.ts";
import type { Catalog } from "../../targets/catalog.ts";

/** As the contract bounds a list; what comes as a text has not met that bound. */
const maxEntries = 1000;
const maxLength = 210;

const familyPrefix = "family:";

/** Returns the permissions as they are kept: a JSON list, or null for all models. Throws a Refusal. */
export function readPermissions({ models }: ModelPermissions, catalog: Catalog): string | null {
  const entries = models.case === "list" ? models.value.entries : entriesOf(models.value ?? "");
  const names = entries.map((entry, i) => nameOf(entry, `models[${i}]`, catalog));
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

/** Returns the name under which the entry is kept. */
function nameOf(entry: unknown, param: string, catalog: Catalog): string {
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
