/** `model-gateway accounts create|list`: who pays. */
import { newId } from "../ids.ts";
import type { Storage } from "../storage/storage.ts";
import { helpHint, readName, readOptions, table, UsageError, withStorage } from "./command.ts";

export const accountsUsage = `  accounts create --name NAME                  make an account; writes its id
  accounts list                                list the accounts`;

export async function accounts([action, ...args]: readonly string[]): Promise<void> {
  switch (action) {
    case "create": {
      const { values } = readOptions("accounts create", args, { name: { type: "string" } });
      const name = readName("--name", values.name);
      return withStorage(values.config, (storage) => createAccount(storage, name));
    }
    case "list": {
      const { values } = readOptions("accounts list", args, {});
      return withStorage(values.config, listAccounts);
    }
  }
  throw new UsageError(`accounts needs one of: create, list. ${helpHint}`);
}

async function createAccount({ accounts }: Storage, name: string): Promise<void> {
  if (await accounts.find(name)) throw new UsageError(`there is an account "${name}" already`);
  const now = Date.now();
  const id = newId("acc", now);
  await accounts.insert({ id, name, created_at: now });
  console.log(id);
}

async function listAccounts({ accounts }: Storage): Promise<void> {
  const rows = (await accounts.list()).map(({ id, name, created_at }) => [
    id,
    new Date(created_at).toISOString(),
    name,
  ]);
  console.log(table(["ID", "CREATED", "NAME"], rows));
}
