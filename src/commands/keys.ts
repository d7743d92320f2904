/**
 * `model-gateway keys create|update|list|disable|enable|revoke`: manages the API keys of accounts.
 *
 * `create` writes only the secret to standard output, so that scripts can read it; it cannot be shown again. Changes
 * are recorded in the audit log like those of the RPCs.
 */
import { create, type DescMessage, type DescMethod, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { KeyService, ModelPermissionsSchema } from "../../gen/modelgateway/v1/keys_pb.ts";
import { operatorCaller } from "../call/call.ts";
import type { Config } from "../config/config.ts";
import { detailsDone } from "../pipeline/check/audit.ts";
import { formatDecimal } from "../runtime/decimal.ts";
import { newId } from "../runtime/ids.ts";
import { readBudgetList } from "../services/accounts/budget-messages.ts";
import { createOnce } from "../services/idempotency.ts";
import { issueKey } from "../services/keys/issue-key.ts";
import { type KeyLimitChange, modelRatesOf, readLimits } from "../services/keys/key-limits.ts";
import { readPermissions } from "../services/keys/key-permissions.ts";
import { type ApiKey, hasLabels, type KeyLabelFilter, listIn } from "../storage/keys.ts";
import { limitOf } from "../storage/money/bounds.ts";
import { readBudgets } from "../storage/money/budgets.ts";
import type { Storage, Stores } from "../storage/storage.ts";
import type { Catalog } from "../targets/catalog.ts";
import { Wire } from "../wire/wire.ts";
import { checkExpiry, clockOf, readAmount, readExpiry, readName, table, withStorage } from "./command.ts";
import { type BudgetFields, budgetListOf, readBudgetOption, writeBudgets } from "./line/budget-option.ts";
import { createdBefore, helpHint, UsageError, wrongAction } from "./line/errors.ts";
import { type KeyLimitFields, readKeyLimits, requestOf } from "./line/key-options.ts";
import { readOptions } from "./line/read-options.ts";

const { createKey: creating, updateKey: updating, deleteKey: deleting } = KeyService.method;

export async function keys([action, ...args]: readonly string[]): Promise<void> {
  switch (action) {
    case "create":
      return createKey(args);
    case "update":
      return updateKey(args);
    case "list": {
      const { values } = readOptions("keys list", args);
      const account = values.account === undefined ? undefined : readName("--account", values.account);
      const { tag, owner } = values;
      return withStorage(values.config, async (storage) => listKeys(storage, account, { tag, owner }));
    }
    case "disable":
    case "enable":
    case "revoke": {
      const { values, positionals } = readOptions(`keys ${action}`, args);
      const id = readId(action, positionals[0]);
      return withStorage(values.config, async (storage) =>
        action === "revoke" ? revokeKey(storage, id) : switchKey(storage, id, action === "disable"),
      );
    }
  }
  throw wrongAction("keys", action);
}

/** readId returns the id of a key. The argument may be a secret in the wrong place: it is not repeated. */
function readId(action: string, id = ""): string {
  if (id.startsWith("key_")) return id;
  throw new UsageError(`keys ${action} wants an id that begins with key_, as \`keys list\` shows it`);
}

async function createKey(args: readonly string[]): Promise<void> {
  const { values } = readOptions("keys create", args);
  const account = readName("--account", values.account);
  const name = readName("--name", values.name);
  const { "credit-limit": limit, model: models, expires, "idempotency-key": once } = values;
  const creditLimit = limit === undefined ? undefined : readAmount("--credit-limit", limit);
  const expiresAt = expires === undefined ? undefined : readExpiry(expires);
  const limits = readKeyLimits(values);
  const budgets = readBudgetOption(values.budget);
  const bounds = { creditLimit, expiresAt: expiresAt && timestampMs(expiresAt) };
  const request = {
    name,
    ...(creditLimit === undefined ? {} : { creditLimit: { amount: BigInt(creditLimit) } }),
    ...(models === undefined ? {} : { models: listOf(models) }),
    ...(expiresAt === undefined ? {} : { expiresAt: { at: expiresAt } }),
    ...limits,
    ...budgets,
  };
  const make = async (storage: Storage, config: Config) => {
    const now = clockOf(storage)();
    checkExpiry(expiresAt, now);
    const permitted = { models: models === undefined ? null : await permissions(models, config) };
    const owner = { accountId: await accountIdOf(storage, account), maxKeys: config.maxKeysPerAccount };
    const stored = { limits: await limitsOf(limits, config), budgets: storedOf(budgets, null, now) };
    const init = { ...owner, name, admin: false, now, ...bounds, ...permitted, ...stored };
    const caller = { ...operatorCaller, accountId: owner.accountId };
    const call = { method: creating, request: wireOf(creating, request), caller, header: () => once };
    const { id, made } = await createOnce(storage.transact, call, now, async (stores) => {
      const { key, secret } = await issueKey(stores.keys, init);
      await writeAuditEvent(stores, now, creating, key, request);
      return { id: key.id, secret };
    });
    if (!made) throw createdBefore(id, "keys revoke");
    console.error(`Created ${id}. Copy the secret now: it is not shown again.`);
    console.log(made.secret);
  };
  await withStorage(values.config, make, "nothing");
}

async function updateKey(args: readonly string[]): Promise<void> {
  const { values, positionals } = readOptions("keys update", args);
  const id = readId("update", positionals[0]);
  const limits = readKeyLimits(values);
  const budgets = readBudgetOption(values.budget);
  if (Object.keys({ ...limits, ...budgets }).length === 0)
    throw new UsageError(`keys update changes nothing without an option. ${helpHint("keys update")}`);
  await withStorage(values.config, async (storage, config) => {
    const key = await storage.keys.findWithAccount(id);
    if (!key) throw unknownKey(id);
    const now = clockOf(storage)();
    const change = { ...(await limitsOf(limits, config)), budgets: storedOf(budgets, key.budgets, now) };
    await storage.transact(async (stores) => {
      const { kind } = await stores.keys.update(key.account_id, id, change, now);
      if (kind === "absent") throw new UsageError(`${id} was revoked before`);
      await writeAuditEvent(stores, now, updating, key, { id, ...limits, ...budgets });
    });
    console.error(`Changed ${id}. It holds from the next call on.`);
  });
}

/** storedOf returns the budgets as they are stored; undefined where none are given. */
function storedOf(fields: BudgetFields, before: string | null, now: number): string | null | undefined {
  return readBudgetList(budgetListOf(fields), before, { byOperator: false, now });
}

/** limitsOf checks the limits, and the names of models against those that are served. Throws a Refusal. */
async function limitsOf(fields: KeyLimitFields, config: Config): Promise<KeyLimitChange> {
  return readLimits(requestOf(fields), fields.modelRates ? await servedModels(config) : noModels);
}

/** noModels stands for the served models where none is named: they need not be looked for. */
const noModels = { list: () => [] } as unknown as Catalog;

/** permissions checks the names against the served models. Throws a Refusal. */
async function permissions(entries: string[], config: Config): Promise<string | null> {
  return readPermissions(create(ModelPermissionsSchema, listOf(entries)), await servedModels(config));
}

/** servedModels loads what is needed to find the models, for few commands name any. */
async function servedModels(config: Config): Promise<Catalog> {
  return (await import("./served-catalog.ts")).servedCatalog(config);
}

/** listOf builds the models field of a request. */
function listOf(entries: string[]) {
  return { models: { case: "list", value: { entries } } } as const;
}

async function listKeys(storage: Storage, account: string | undefined, labels: KeyLabelFilter): Promise<void> {
  const all = await storage.keys.list(account === undefined ? undefined : await accountIdOf(storage, account));
  const list = all.filter((key) => hasLabels(key, labels));
  const now = clockOf(storage)();
  const rows = list.map((key) => [
    ...[key.id, key.account_id, key.secret_mask, statusOf(key, now), adminOf(key), moment(key.created_at)],
    ...[key.expires_at === null ? "-" : moment(key.expires_at), formatDecimal(key.spent)],
    ...[decimalOrDash(limitOf(key)), writeBudgets(readBudgets(key.budgets)), listOrDash(key.models)],
    ...[
      ratesOf(key),
      String(key.max_concurrent ?? "-"),
      listOrDash(key.allowed_ips),
      listOrDash(key.tags),
      key.owner ?? "-",
    ],
    key.name,
  ]);
  const head = [
    ...["ID", "ACCOUNT", "SECRET", "STATUS", "ADMIN", "CREATED", "EXPIRES", "SPENT", "LIMIT", "BUDGETS", "MODELS"],
    ...["RATES", "AT A TIME", "ADDRESSES", "TAGS", "OWNER", "NAME"],
  ];
  console.log(table(head, rows));
}

async function switchKey(storage: Storage, id: string, disabled: boolean): Promise<void> {
  const key = await storage.keys.findWithAccount(id);
  if (!key) throw unknownKey(id);
  const now = clockOf(storage)();
  await storage.transact(async (stores) => {
    const { kind } = await stores.keys.update(key.account_id, id, { disabled: Number(disabled) });
    if (kind === "absent") throw new UsageError(`${id} was revoked before`);
    await writeAuditEvent(stores, now, updating, key, { id, disabled });
  });
  console.error(disabled ? `Disabled ${id}. It is refused from now on.` : `Enabled ${id}. It works from now on.`);
}

async function revokeKey(storage: Storage, id: string): Promise<void> {
  const key = await storage.keys.findWithAccount(id);
  if (!key) throw unknownKey(id);
  const now = clockOf(storage)();
  await storage.transact(async (stores) => {
    if (!(await stores.keys.revoke(id, now))) throw new UsageError(`${id} was revoked before`);
    await writeAuditEvent(stores, now, deleting, key, { id });
  });
  console.error(`Revoked ${id}. It is refused from now on.`);
}

/** writeAuditEvent records the event that the RPC would record for such a request. */
export async function writeAuditEvent<I extends DescMessage>(
  { auditEvents }: Pick<Stores, "auditEvents">,
  now: number,
  method: DescMethod & { readonly input: I },
  key: Pick<ApiKey, "id" | "account_id">,
  request: MessageInitShape<I>,
): Promise<void> {
  await auditEvents.insert({
    id: newId("act", now),
    created_at: now,
    action: `KeyService.${method.name}`,
    actor_kind: "command_line",
    actor_id: "",
    account_id: key.account_id,
    subject: key.id,
    details: detailsDone(method, wireOf(method, request)),
    refused: "",
    address: "",
  });
}

function wireOf<I extends DescMessage>(method: DescMethod & { readonly input: I }, request: MessageInitShape<I>) {
  return Wire.ofMessage<DescMessage>(method.input, create<DescMessage>(method.input, request));
}

function unknownKey(id: string): UsageError {
  return new UsageError(`there is no key ${id}; \`keys list\` shows them`);
}

export async function accountIdOf({ accounts }: Storage, idOrName: string): Promise<string> {
  const account = await accounts.find(idOrName);
  if (account) return account.id;
  const remedy = "`accounts list` shows those that there are, `accounts create --name …` makes one";
  throw new UsageError(`there is no account "${idOrName}"; ${remedy}`);
}

function statusOf(key: ApiKey, now: number): string {
  if (key.revoked_at !== null) return "revoked";
  if (key.disabled === 1) return "disabled";
  return key.expires_at !== null && key.expires_at <= now ? "expired" : "active";
}

function adminOf(key: ApiKey): string {
  return key.is_admin ? "yes" : "no";
}

/** maxShownModels is the most models in a row: a key may have a thousand, and one long row makes all rows wide. */
const maxShownModels = 3;

/** decimalOrDash shows an amount; a dash for none. */
function decimalOrDash(millionths: number | null): string {
  return millionths === null ? "-" : formatDecimal(millionths);
}

/** listOrDash shows the first entries of a JSON list; a dash for none. */
function listOrDash(json: string | null): string {
  const names = listIn(json);
  if (names.length === 0) return "-";
  const further = names.length - maxShownModels;
  return [...names.slice(0, maxShownModels), ...(further > 0 ? [`and ${further} more`] : [])].join(", ");
}

/** ratesOf shows a key's rates as the options have them. */
function ratesOf(key: ApiKey): string {
  const { requests_per_minute: rpm, tokens_per_minute: tpm } = key;
  const own = [...(rpm === null ? [] : [`rpm=${rpm}`]), ...(tpm === null ? [] : [`tpm=${tpm}`])];
  const rates = modelRatesOf(key).map(({ model, requests = "", tokens }) => {
    return `${model}=${requests}${tokens === undefined ? "" : `,${tokens}`}`;
  });
  return listOrDash(JSON.stringify([...own, ...rates]));
}

function moment(ms: number): string {
  return new Date(ms).toISOString();
}
