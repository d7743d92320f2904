/**
 * Accounts with money of their own at a test gateway, and what the books say of them, read as another process would.
 *
 *   const payer = await openAccount(gateway, { recharge: 1_000_000 });
 *   const books = openBooks(gateway.databasePath, gateway.storage);
 *   …a call with payer.apiKey…
 *   await books.of(payer)                // balance, what is held, the rows of its calls
 */
import Sqlite from "better-sqlite3";
import type { Selectable } from "kysely";
import { newId } from "../../src/runtime/ids.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import type { CallRow } from "../../src/storage/columns.ts";
import type { UsageHourTable } from "../../src/storage/schema.ts";
import { type AccountInit, now, type TestGateway } from "./gateway.ts";

export interface Payer {
  readonly apiKey: string;
  readonly keyId: string;
  readonly accountId: string;
  /** What the account began with. */
  readonly begunWith: number;
}

/** Opens an account with one key. Unless a test says otherwise it is prepaid, with ten units. */
export async function openAccount({ storage }: Pick<TestGateway, "storage">, init: AccountInit = {}): Promise<Payer> {
  const { postpaid = false, recharge = 10_000_000, grant = 0, creditLimit, models, admin = false } = init;
  const accountId = newId("acc");
  await storage.accounts.insert({ id: accountId, name: accountId, created_at: now, postpaid: postpaid ? 1 : 0 });
  for (const [kind, amount] of [
    [1, recharge],
    [3, grant],
  ] as const) {
    if (amount > 0) await storage.entries.record({ id: newId("led"), accountId, kind, amount, note: null, now });
  }
  const permissions = models && JSON.stringify(models);
  const issued = await issueKey(storage.keys, {
    accountId,
    name: "payer",
    admin,
    now,
    creditLimit,
    models: permissions,
  });
  return { apiKey: issued.secret, keyId: issued.key.id, accountId, begunWith: recharge + grant };
}

/** What the database says of an account and its key. */
export interface Standing {
  readonly balance: number;
  readonly held: number;
  readonly spent: number;
  readonly keyHeld: number;
  readonly holds: number;
  readonly requests: readonly CallRow[];
  readonly hours: readonly Selectable<UsageHourTable>[];
}

export interface Books {
  of(payer: Payer): Promise<Standing>;
  close(): void;
}

/**
 * Opens the database by a connection of its own, to read it only. The gateway of a storage that is given has written all that
 * it knows by then.
 */
export function openBooks(path: string, storage?: TestGateway["storage"]): Books {
  const sqlite = new Sqlite(path, { readonly: true });
  const sums = sqlite.prepare<[string], Pick<Standing, "balance" | "held" | "spent" | "keyHeld" | "holds">>(
    `SELECT a.balance, a.held, k.spent, k.held AS keyHeld,
       (SELECT count(*) FROM holds WHERE account_id = a.id) AS holds
     FROM accounts a JOIN api_keys_now k ON k.account_id = a.id WHERE k.id = ?`,
  );
  const requests = sqlite.prepare<[string], CallRow>("SELECT * FROM requests WHERE account_id = ?");
  const hours = sqlite.prepare<[string], Selectable<UsageHourTable>>(
    "SELECT * FROM usage_hours_now WHERE account_id = ?",
  );
  const read = sqlite.transaction(({ keyId, accountId }: Payer): Standing => {
    const standing = sums.get(keyId);
    if (!standing) throw new Error(`there is no key ${keyId}`);
    return {
      ...standing,
      requests: requests.all(accountId),
      hours: hours.all(accountId),
    };
  });
  return {
    async of(payer) {
      await storage?.holds.total();
      return read(payer);
    },
    close: () => void sqlite.close(),
  };
}
