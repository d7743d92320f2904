/**
 * `model-gateway keys create|list|disable|enable|revoke`: the API keys that requests are authenticated by.
 *
 * `create` writes the secret alone to standard output, so that a script can take it; nothing shows it again. What is done
 * stands in the audit log as what the RPCs do.
 */
import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { ModelPermissionsSchema } from "../../gen/modelgateway/v1/keys_pb.ts";
import { createCatalog } from "../catalog.ts";
import type { Config } from "../config/config.ts";
import { discoverModels } from "../config/discover.ts";
import { formatDecimal } from "../decimal.ts";
import { newId } from "../ids.ts";
import { embeddedModels } from "../providers/index.ts";
import { readPermissions } from "../services/key-permissions.ts";
import { issueKey } from "../services/keys.ts";
import type { ApiKey } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";
import { helpHint, readAmount, readFuture, readName, readOptions, table, UsageError, withStorage } from "./command.ts";
import { openLog } from "./log-lines.ts";

export async function keys([action, ...args]: readonly string[]): Promise<void> {
  switch (action) {
    case "create":
      return createKey(args);
    case "list": {
      const { values } = readOptions("keys list", args, { account: { type: "string" } });
      const account = values.account === undefined ? undefined : readName("--account", values.account);
      return withStorage(values.config, async (storage) => listKeys(storage, account));
    }
    case "disable":
    case "enable":
    case "revoke": {
      const { values, positionals } = readOptions(`keys ${action}`, args, {}, ["KEY_ID"]);
      const id = positionals[0] as string;
      // It may be the secret: it is not repeated.
      if (!id.startsWith("key_"))
        throw new UsageError(`keys ${action} wants an id that begins with key_, as \`keys list\` shows it`);
      return withStorage(values.config, async (storage) =>
        action === "revoke" ? revokeKey(storage, id) : switchKey(storage, id, action === "disable"),
      );
    }
  }
  throw new UsageError(`keys needs one of: create, list, disable, enable, revoke. ${helpHint}`);
}

async function createKey(args: readonly string[]): Promise<void> {
  const { values } = readOptions("keys create", args, {
    account: { type: "string" },
    name: { type: "string" },
    "credit-limit": { type: "string" },
    model: { type: "string", multiple: true },
    expires: { type: "string" },
  });
  const account = readName("--account", values.account);
  const name = readName("--name", values.name);
  const { "credit-limit": limit, model: models, expires } = values;
  const bounds = {
    creditLimit: limit === undefined ? null : readAmount("--credit-limit", limit),
    expiresAt: expires === undefined ? null : timestampMs(readFuture("--expires", expires)),
  };
  await withStorage(values.config, async (storage, config) => {
    const permitted = { models: models === undefined ? null : await permissions(models, config) };
    const owner = { accountId: accountIdOf(storage, account), maxKeys: config.maxKeysPerAccount };
    const init = { ...owner, name, admin: false, now: Date.now(), ...bounds, ...permitted };
    const { key, secret } = storage.transact(() => {
      const issued = issueKey(storage.keys, init);
      writeAct(storage, "CreateKey", issued.key, { name });
      return issued;
    });
    console.error(`Created ${key.id}. Copy the secret now: it is not shown again.`);
    console.log(secret);
  });
}

/** Checks the names against the models that the gateway serves. Throws a Refusal. */
async function permissions(entries: string[], config: Config): Promise<string | null> {
  const { models } = await discoverModels(config, openLog("warn"));
  const catalog = createCatalog(config.embeddedModels ? [...models, ...embeddedModels] : models);
  const list = { case: "list", value: { entries } } as const;
  return readPermissions(create(ModelPermissionsSchema, { models: list }), catalog);
}

function listKeys(storage: Storage, account: string | undefined): void {
  const list = storage.keys.list(account === undefined ? undefined : accountIdOf(storage, account));
  const rows = list.map((key) => [
    ...[key.id, key.account_id, key.secret_mask, statusOf(key), adminOf(key), created(key)],
    ...[formatDecimal(key.spent), key.credit_limit === null ? "-" : formatDecimal(key.credit_limit), key.name],
  ]);
  console.log(table(["ID", "ACCOUNT", "SECRET", "STATUS", "ADMIN", "CREATED", "SPENT", "LIMIT", "NAME"], rows));
}

function switchKey(storage: Storage, id: string, disabled: boolean): void {
  const key = storage.keys.findStanding(id);
  if (!key) throw unknownKey(id);
  storage.transact(() => {
    const { kind } = storage.keys.update(key.account_id, id, { disabled: Number(disabled) });
    if (kind === "absent") throw new UsageError(`${id} was revoked before`);
    writeAct(storage, "UpdateKey", key, { disabled });
  });
  console.error(disabled ? `Disabled ${id}. It is refused from now on.` : `Enabled ${id}. It works from now on.`);
}

function revokeKey(storage: Storage, id: string): void {
  const key = storage.keys.findStanding(id);
  if (!key) throw unknownKey(id);
  storage.transact(() => {
    if (!storage.keys.revoke(id, Date.now())) throw new UsageError(`${id} was revoked before`);
    writeAct(storage, "DeleteKey", key, {});
  });
  console.error(`Revoked ${id}. It is refused from now on.`);
}

function writeAct({ acts }: Storage, rpc: string, key: ApiKey, details: object): void {
  const now = Date.now();
  acts.insert({
    ...{ id: newId("act", now), created_at: now, action: `KeyService.${rpc}` },
    ...{ actor_kind: "command_line", actor_id: "", account_id: key.account_id, subject: key.id },
    ...{ details: JSON.stringify(details), refused: "", address: "" },
  });
}

function unknownKey(id: string): UsageError {
  return new UsageError(`there is no key ${id}; \`keys list\` shows them`);
}

function accountIdOf({ accounts }: Storage, idOrName: string): string {
  const account = accounts.find(idOrName);
  if (account) return account.id;
  throw new UsageError(`there is no account "${idOrName}"; \`model-gateway accounts create --name …\` makes one`);
}

function statusOf(key: ApiKey): string {
  if (key.revoked_at !== null) return "revoked";
  if (key.disabled === 1) return "disabled";
  return key.expires_at !== null && key.expires_at <= Date.now() ? "expired" : "active";
}

function adminOf(key: ApiKey): string {
  return key.is_admin ? "yes" : "no";
}

function created(key: ApiKey): string {
  return new Date(key.created_at).toISOString();
}
