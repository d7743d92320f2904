/**
 * Accounts with money of their own at a test gateway, and what the books say of them, read as another process would.
 *
 *   const payer = await openAccount(gateway, { recharge: 1_000_000 });
 *   const books = openBooks(gateway.database, gateway.storage);
 *   …a call with payer.apiKey…
 *   await books.of(payer)                // balance, what is held, the rows of its calls
 */
import type { Selectable } from "kysely";
import { newId } from "../../src/runtime/ids.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import type { CallRow } from "../../src/storage/columns.ts";
import type { UsageHourTable } from "../../src/storage/schema.ts";
import { eventually } from "./eventually.ts";
import { type AccountInit, now, type TestGateway } from "./gateway.ts";
import type { TestDatabase } from "./storage/test-database.ts";

export interface Payer {
  readonly apiKey: string;
  readonly keyId: string;
  readonly accountId: string;
  /** begunWith is what the account began with. */
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

/** Standing is what the database says of an account and its key. */
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
}

/**
 * Reads the database by a connection of its own. The gateways on the database of a storage that is given have written all that they know
 * by then, and given back what they hold for no call.
 */
export function openBooks(database: Pick<TestDatabase, "read">, storage?: TestGateway["storage"]): Books {
  return {
    async of({ keyId, accountId }) {
      // On SQLite the first has all written, and on Postgres the second.
      await storage?.holds.total();
      await storage?.recall(accountId);
      return database.read(async (query) => {
        const [standing] = await query<Pick<Standing, "balance" | "held" | "spent" | "keyHeld" | "holds">>(
          `SELECT a.balance, a.held, k.spent, k.held AS "keyHeld", (SELECT count(*) FROM holds WHERE account_id = a.id) AS holds
           FROM accounts_now a JOIN api_keys_now k ON k.account_id = a.id WHERE k.id = ?`,
          keyId,
        );
        if (!standing) throw new Error(`there is no key ${keyId}`);
        return {
          ...standing,
          requests: await query<CallRow>("SELECT * FROM requests WHERE account_id = ? ORDER BY id", accountId),
          hours: await query<Standing["hours"][number]>(
            "SELECT * FROM usage_hours_now WHERE account_id = ?",
            accountId,
          ),
        };
      });
    },
  };
}

/** Returns what an account's calls came to: what they cost, what is held for those under way, and how the others ended. */
export async function outcomeOf(books: Books, payer: Payer) {
  const { balance, holds, held, requests } = await books.of(payer);
  return { spent: payer.begunWith - balance, holds, held, outcomes: requests.map(({ outcome }) => outcome) };
}

/**
 * Returns how much each call of an account holds, as soon as that is written of any: on Postgres a call that draws on a lease is sent
 * meanwhile. `now` is in milliseconds since 1970.
 */
export async function amountsHeld({ storage, accountId }: TestGateway, now: number): Promise<readonly number[]> {
  let found: readonly { readonly amount: number }[] = [];
  await eventually(async () => {
    found = await storage.holds.list(accountId, now, 10);
    if (found.length === 0) throw new Error("no call holds anything");
  });
  return found.map(({ amount }) => amount);
}
