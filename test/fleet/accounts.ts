/** The accounts of the fleet's callers: each kind pays, and is bounded, in another way. */
import { newId } from "../../src/runtime/ids.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import type { Storage } from "../../src/storage/storage.ts";

/**
 * `ample` pays beforehand and never runs dry, `postpaid` pays later. `scarce` has credit for some calls, and `draining` for so many that
 * nodes lease it; both run dry and are recharged. `limited` is ample, and its keys have limits. `rated` sends more than its tier allows.
 */
export type Kind = "ample" | "postpaid" | "scarce" | "draining" | "limited" | "rated";

export interface FleetAccount {
  readonly kind: Kind;
  readonly id: string;
  readonly adminKey: string;
  /** The key that calls are made with now. */
  key: FleetKey;
  /** What is known to have been credited, and when; in millionths of the unit. */
  readonly credits: { readonly amount: number; readonly at: number }[];
  /** When it was refused for want of credit, the first time since it was recharged; undefined while it was not. */
  dryAt: number | undefined;
}

export interface FleetKey {
  readonly id: string;
  readonly secret: string;
  /** In millionths of the unit. */
  readonly limit: number | undefined;
  readonly madeAt: number;
}

/** Requests a minute of accounts that have recharged nothing, and of all others. */
export const [slowPerMinute, fastPerMinute] = [600, 1_000_000];
/** From which recharge on an account is fast, in units. */
export const fastFrom = "0.01";

const [ample, limit] = [1_000_000_000_000, 1_500_000];
export const creditOf: Partial<Record<Kind, number>> = { scarce: 700_000, draining: 70_000 };

const kinds: readonly Kind[] = [
  ...["ample", "ample", "ample"],
  ...["postpaid", "limited", "draining"],
  ...["scarce", "scarce", "scarce", "rated", "rated"],
] as Kind[];

export async function openAccounts(storage: Storage): Promise<FleetAccount[]> {
  const accounts: FleetAccount[] = [];
  for (const [n, kind] of kinds.entries()) {
    const id = newId("acc");
    const isPostpaid = kind === "postpaid" || kind === "rated";
    await storage.accounts.insert({ id, name: `${kind} ${n}`, created_at: Date.now(), postpaid: isPostpaid ? 1 : 0 });
    const amount = kind === "rated" ? 0 : (creditOf[kind] ?? ample);
    if (amount > 0)
      await storage.entries.record({ id: newId("led"), accountId: id, kind: 1, amount, note: null, now: Date.now() });
    const { secret: adminKey } = await issueKey(storage.keys, {
      accountId: id,
      name: "admin",
      admin: true,
      now: Date.now(),
    });
    const credits = [{ amount, at: Number.NEGATIVE_INFINITY }];
    const key = await addKey(storage, { id, kind });
    accounts.push({ kind, id, adminKey, key, credits, dryAt: undefined });
  }
  return accounts;
}

/** Makes a key: with a limit where the account is `limited`. */
export async function addKey(storage: Storage, { id, kind }: Pick<FleetAccount, "id" | "kind">): Promise<FleetKey> {
  const creditLimit = kind === "limited" ? limit : undefined;
  const init = { accountId: id, name: "calls", admin: false, creditLimit, now: Date.now() };
  const { key, secret } = await issueKey(storage.keys, init);
  return { id: key.id, secret, limit: creditLimit, madeAt: performance.now() };
}
