/**
 * `model-gateway import litellm-keys FILE --account ACCOUNT`: takes the virtual keys of a LiteLLM proxy over. Their secrets stay as
 * they are, and are never seen: both store the same hash. It may be repeated: keys that are here already are left alone.
 */
import { readFileSync } from "node:fs";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import type { Config } from "../../config/config.ts";
import { type KeyDraft, readLiteLlmKeys } from "../../config/import/litellm/keys.ts";
import { type Notes, noteText } from "../../config/import/notes.ts";
import { newId } from "../../runtime/ids.ts";
import { counted } from "../../runtime/words/counted.ts";
import type { KeyModelRate } from "../../storage/keys.ts";
import { storedBudgets } from "../../storage/money/budgets.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Catalog } from "../../targets/catalog.ts";
import { clockOf, readName, withStorage } from "../command.ts";
import { accountIdOf, writeAuditEvent } from "../keys.ts";
import { UsageError } from "../line/errors.ts";
import { readOptions } from "../line/read-options.ts";
import { servedCatalog } from "../served-catalog.ts";

export async function importKeys(args: readonly string[]): Promise<void> {
  const { values, positionals } = readOptions("import litellm-keys", args);
  const account = readName("--account", values.account);
  const readText = (path: string) => readFileSync(path, "utf8");
  await withStorage(values.config, async (storage, config) => {
    const now = clockOf(storage)();
    const { keys, notes, all } = readLiteLlmKeys(positionals[0] as string, readText, { team: values.team, now });
    const accountId = await accountIdOf(storage, account);
    const catalog = await servedCatalog(config);
    const outcomes: ("made" | "known")[] = [];
    for (const draft of keys)
      outcomes.push(await importKey(draft, { storage, config, catalog, notes, accountId, now: clockOf(storage)() }));
    for (const note of all()) console.error(noteText(note));
    const made = outcomes.filter((outcome) => outcome === "made").length;
    const known = outcomes.length - made;
    console.error(
      `Took over ${made} of ${counted(keys.length, "key")}; ${counted(known, "was", "were")} here already. Amounts are taken as ${config.unit.code}.`,
    );
    if (values.strict && all().length > 0) process.exitCode = 1;
  });
}

interface Into {
  readonly storage: Storage;
  readonly config: Config;
  readonly catalog: Catalog;
  readonly notes: Notes;
  readonly accountId: string;
  readonly now: number;
}

async function importKey(
  draft: KeyDraft,
  { storage, config, catalog, notes, accountId, now }: Into,
): Promise<"made" | "known"> {
  const { place, name, secretHash, creditLimit, expiresAt } = draft;
  if (await storage.keys.findBySecretHash(secretHash, now)) return "known";
  const models = draft.models && servedOf(draft.models, catalog);
  for (const missing of models?.missing ?? [])
    notes.changed(place, `"${name}": it may not use "${missing}", which is not served here`);
  const isEmpty = models?.served.length === 0;
  if (isEmpty)
    notes.toDo(place, `"${name}": none of its models is served here. It is disabled: set its models, and enable it`);
  const rates = ratesOf(draft, catalog, notes);
  const { limits } = draft;
  const permitted = models && !isEmpty ? JSON.stringify(models.served) : null;
  const key = {
    id: newId("key", now),
    account_id: accountId,
    name,
    secret_hash: secretHash,
    secret_mask: draft.mask,
    is_admin: 0,
    created_at: now,
    credit_limit: creditLimit ?? null,
    models: permitted,
    expires_at: expiresAt ?? null,
    requests_per_minute: limits.requestsPerMinute ?? null,
    tokens_per_minute: limits.tokensPerMinute ?? null,
    max_concurrent: limits.maxConcurrent ?? null,
    model_rates: rates.length === 0 ? null : JSON.stringify(rates),
    tags: limits.tags.length === 0 ? null : JSON.stringify(limits.tags),
    owner: limits.owner ?? null,
    budgets: storedBudgets(draft.budget ? [{ id: newId("bud", now), rolling: false, ...draft.budget }] : []),
  };
  await storage.transact(async (stores) => {
    if (!(await stores.keys.insert(key, config.maxKeysPerAccount))) {
      throw new UsageError(
        `the account has ${config.maxKeysPerAccount} keys, as many as it may have (max_keys_per_account)`,
      );
    }
    // A key is inserted enabled; nobody sees it before it is disabled.
    if (draft.disabled || isEmpty) await stores.keys.update(accountId, key.id, { disabled: 1 });
    await writeAuditEvent(stores, now, KeyService.method.createKey, key, { name });
  });
  return "made";
}

/** ratesOf returns the rates of models that are served here, by their ids. */
function ratesOf({ place, name, limits }: KeyDraft, catalog: Catalog, notes: Notes): KeyModelRate[] {
  const rates = new Map<string, KeyModelRate>();
  for (const { model, requests, tokens } of limits.modelRates) {
    const [id] = servedOf([model], catalog).served;
    if (id === undefined) notes.changed(place, `"${name}": its rate of "${model}" is left out: it is not served here`);
    else if (requests !== undefined || tokens !== undefined) rates.set(id, { model: id, requests, tokens });
  }
  return [...rates.values()];
}

/** servedOf divides names into what is served here, as permissions have it, and the others. An access group may be a family. */
function servedOf(names: readonly string[], catalog: Catalog) {
  const families = new Set(catalog.list().map(({ family }) => family));
  const ids = new Map(catalog.list().flatMap(({ id, aliases }) => [id, ...aliases].map((name) => [name, id] as const)));
  const found = names.map((name) => ids.get(name) ?? (families.has(name) ? `family:${name}` : undefined));
  return {
    served: [...new Set(found.filter((name) => name !== undefined))],
    missing: names.filter((_, i) => found[i] === undefined),
  };
}
