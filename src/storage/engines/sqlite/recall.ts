/**
 * Has other processes on the same file give back what they lease of an account. Nobody can speak with them: the account is changed, by
 * nothing, which each of them sees within moments, and its ledger then gives back its leases of it (`releaseChangedLater`).
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../scope.ts";

/** recallMs is how long others may take to give leases back, in milliseconds. */
const recallMs = 1000;
/** The pause between two looks, in milliseconds. */
const lookMs = 15;
/** How soon others are asked again, in milliseconds: a lease that they were just being granted is not given back at once. */
const againMs = 250;

/**
 * recallFromOthers resolves to whether all leases of the account that there were have been given back, and so what is written of the calls
 * that drew on them. Those of a process that stands still are not, nor those of one that may have died and is not known to.
 */
export async function recallFromOthers(db: Database, accountId: string): Promise<boolean> {
  const begunAt = performance.now();
  // This read makes this process give back its own leases first: what is left is of others.
  const asked = await leasesOf(db, accountId);
  let out = asked;
  for (let askAt = begunAt; out.length > 0 && performance.now() < begunAt + recallMs; ) {
    if (performance.now() >= askAt) {
      await ask(db, accountId);
      askAt += againMs;
    }
    await delay(lookMs);
    const now = await leasesOf(db, accountId);
    // One that was taken meanwhile holds nothing for the calls that began before.
    out = asked.filter((id) => now.includes(id));
  }
  return out.length === 0;
}

async function leasesOf(db: Database, accountId: string): Promise<string[]> {
  const leases = db.selectFrom("holds").select("request_id").where("account_id", "=", accountId);
  const rows = await leases.where("operation", "=", "").where("amount", ">", 0).execute();
  return rows.map(({ request_id }) => request_id);
}

/** ask changes nothing of the account, and counts as a change of it. */
async function ask(db: Database, accountId: string): Promise<void> {
  const account = db.updateTable("accounts").where("id", "=", accountId);
  await account.set((of) => ({ name: of.ref("name") })).execute();
}
