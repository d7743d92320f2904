/**
 * `model-gateway keys create|list|revoke`: the API keys that requests are authenticated by.
 *
 * `create` writes the secret alone to standard output, so that a script can take it; nothing shows it again.
 */
import { issueKey } from "../services/keys.ts";
import type { ApiKey } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";
import { helpHint, readName, readOptions, table, UsageError, withStorage } from "./command.ts";

export const keysUsage = `  keys create --account ACCOUNT --name NAME    make an API key; writes its secret, once
  keys list [--account ACCOUNT]                list the keys, revoked ones too
  keys revoke KEY_ID                           refuse a key from now on`;

export async function keys([action, ...args]: readonly string[]): Promise<void> {
  switch (action) {
    case "create": {
      const { values } = readOptions("keys create", args, { account: { type: "string" }, name: { type: "string" } });
      const account = readName("--account", values.account);
      const name = readName("--name", values.name);
      return withStorage(values.config, (storage) => createKey(storage, account, name));
    }
    case "list": {
      const { values } = readOptions("keys list", args, { account: { type: "string" } });
      const account = values.account === undefined ? undefined : readName("--account", values.account);
      return withStorage(values.config, (storage) => listKeys(storage, account));
    }
    case "revoke": {
      const { values, positionals } = readOptions("keys revoke", args, {}, ["KEY_ID"]);
      const id = positionals[0] as string;
      // It may be the secret: it is not repeated.
      if (!id.startsWith("key_"))
        throw new UsageError("keys revoke wants an id that begins with key_, as `keys list` shows it");
      return withStorage(values.config, (storage) => revokeKey(storage, id));
    }
  }
  throw new UsageError(`keys needs one of: create, list, revoke. ${helpHint}`);
}

async function createKey(storage: Storage, account: string, name: string): Promise<void> {
  const accountId = await accountIdOf(storage, account);
  const { key, secret } = await issueKey(storage.keys, { accountId, name, admin: false, now: Date.now() });
  console.error(`Created ${key.id}. Copy the secret now: it is not shown again.`);
  console.log(secret);
}

async function listKeys(storage: Storage, account: string | undefined): Promise<void> {
  const list = await storage.keys.list(account === undefined ? undefined : await accountIdOf(storage, account));
  const rows = list.map((key) => [
    key.id,
    key.account_id,
    key.secret_mask,
    statusOf(key),
    adminOf(key),
    created(key),
    key.name,
  ]);
  console.log(table(["ID", "ACCOUNT", "SECRET", "STATUS", "ADMIN", "CREATED", "NAME"], rows));
}

async function revokeKey({ keys }: Storage, id: string): Promise<void> {
  if (await keys.revoke(id, Date.now())) return console.error(`Revoked ${id}. It is refused from now on.`);
  const known = (await keys.list()).some((key) => key.id === id);
  throw new UsageError(known ? `${id} was revoked before` : `there is no key ${id}; \`keys list\` shows them`);
}

async function accountIdOf({ accounts }: Storage, idOrName: string): Promise<string> {
  const account = await accounts.find(idOrName);
  if (account) return account.id;
  throw new UsageError(`there is no account "${idOrName}"; \`model-gateway accounts create --name …\` makes one`);
}

function statusOf(key: ApiKey): string {
  return key.revoked_at === null ? "active" : "revoked";
}

function adminOf(key: ApiKey): string {
  return key.is_admin ? "yes" : "no";
}

function created(key: ApiKey): string {
  return new Date(key.created_at).toISOString();
}
