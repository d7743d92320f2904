/**
 * Furnishes the demo (`npm run demo -- --furnished`): accounts, thirty keys, and a month of calls at three vendors, as if they had been
 * made. The calls go through the books, so that every sum is the ledger's and `reconcile` finds nothing. What is asked of the
 * vendors from then on needs their keys in the environment; the embedded models answer at once.
 */
import { createPastCharges, type PastCharges } from "../../composition/past-charges.ts";
import type { Config } from "../../config/config.ts";
import { newId } from "../../runtime/ids.ts";
import { hashPassword, newPassword } from "../../runtime/secrets.ts";
import { issueKey } from "../../services/keys/keys.ts";
import { addUser } from "../../services/people/add-user.ts";
import type { Capture } from "../../storage/columns.ts";
import type { Storage } from "../../storage/storage.ts";
import { createCatalog, type Model } from "../../targets/catalog.ts";
import { furnishBudgets } from "./budgets.ts";
import { labelsOf } from "./labels.ts";
import { habits, type PlannedAccount, type PlannedKey, plannedAccounts } from "./plan.ts";
import { createRandom, type Random } from "./random.ts";
import { furnishRefusals } from "./refusals.ts";
import { type Caller, days, madeCalls } from "./traffic.ts";

const dayMs = 86_400_000;
const seed = 20_261_126;
/** batch is how many calls a transaction of the books has. */
const batch = 400;

export interface FurnishOptions {
  readonly config: Pick<Config, "models">;
  readonly storage: Storage;
  /** The demo's own account, which has the first plan. */
  readonly accountId: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Furnishes once: nothing happens where the accounts are there already. */
export async function furnish({ config, storage, accountId, now }: FurnishOptions): Promise<void> {
  const last = plannedAccounts.at(-1)?.name ?? "";
  if (await storage.accounts.find(last)) return;
  const models = new Map(
    createCatalog(config.models)
      .list()
      .map((model) => [model.id, model]),
  );
  const stage = { storage, models, random: createRandom(seed), charges: createPastCharges(), now };
  for (const [place, planned] of plannedAccounts.entries()) {
    const id = place === 0 ? accountId : await account(stage, planned);
    await furnishAccount(stage, id, planned);
  }
}

interface Stage {
  readonly storage: Storage;
  readonly models: ReadonlyMap<string, Model>;
  readonly random: Random;
  readonly charges: PastCharges;
  readonly now: number;
}

async function account({ storage, now }: Stage, { name, postpaid, user }: PlannedAccount): Promise<string> {
  const id = newId("acc", now - (days + 5) * dayMs);
  const postpaidNumber = postpaid ? 1 : 0;
  await storage.accounts.insert({ id, name, created_at: now - (days + 5) * dayMs, postpaid: postpaidNumber });
  if (user !== undefined) {
    const passwordHash = await hashPassword(newPassword());
    await storage.transact((stores) =>
      addUser(stores, { email: user, passwordHash, accountId: id, operator: false, now: now - days * dayMs }),
    );
  }
  return id;
}

async function furnishAccount(stage: Stage, accountId: string, planned: PlannedAccount): Promise<void> {
  const { storage, charges, now } = stage;
  const callers: Caller[] = [];
  for (const plannedKey of planned.keys) callers.push(await caller(stage, accountId, plannedKey));
  const weighed = callers.filter(({ weight }) => weight > 0);
  const calls = weighed.length === 0 ? [] : madeCalls({ ...stage, callers: weighed, callsADay: planned.calls });
  const cost = calls.reduce((sum, call) => sum + call.cost, 0);
  if (!planned.postpaid && cost > 0) await payFor(stage, accountId, cost);
  for (const [id, card] of charges.cards) await storage.prices.keep(id, card, now);
  await write(stage, calls);
  if (cost > 0 && !planned.postpaid) await furnishBudgets({ ...stage, accountId, callers: weighed, calls });
  await furnishRefusals(storage, weighed, now);
  await endKeys(stage, accountId, planned.keys, callers);
  if (planned.suspended) await storage.accounts.update(accountId, { suspended_at: now - 3 * dayMs });
}

async function caller({ storage, now }: Stage, accountId: string, planned: PlannedKey): Promise<Caller> {
  const { name, habit, weight, age, limit, isAdmin = false, models, expiresIn } = planned;
  const createdAt = now - age * dayMs;
  const expiresAt = expiresIn === undefined ? null : now + expiresIn * dayMs;
  const { key } = await issueKey(storage.keys, {
    ...{ accountId, name, admin: isAdmin, now: createdAt, expiresAt },
    creditLimit: limit === undefined ? null : limit * 1_000_000,
    models: models ? JSON.stringify(models) : null,
    limits: labelsOf(planned),
  });
  await recordCreation(storage, { accountId, keyId: key.id, name, at: createdAt });
  const allowed = habits[habit].filter((one) => models === undefined || models.includes(one.model));
  const to = Math.min(expiresAt ?? now, planned.isDisabled ? now - 4 * dayMs : now);
  const own = allowed.length > 0 ? allowed : habits[habit].filter(({ model }) => model.startsWith("gpt"));
  return { accountId, keyId: key.id, weight, habits: own, from: createdAt, to };
}

interface Creation {
  readonly accountId: string;
  readonly keyId: string;
  readonly name: string;
  readonly at: number;
}

/** recordCreation records in the audit log who created a key: the account's first user, or else the operator. */
async function recordCreation(
  { users, auditEvents }: Storage,
  { accountId, keyId, name, at }: Creation,
): Promise<void> {
  const [user] = await users.page({ search: accountId, limit: 1 });
  const actor = user ? { actor_kind: "user", actor_id: user.id } : { actor_kind: "operator_key", actor_id: "" };
  await auditEvents.insert({
    ...{ id: newId("act", at), created_at: at, action: "KeyService.CreateKey", ...actor, account_id: accountId },
    ...{ subject: keyId, details: JSON.stringify({ name }), refused: "", address: "192.0.2.17" },
  });
}

/** The money comes in four payments, in whole hundreds, and some of it is left. */
async function payFor({ storage, now }: Stage, accountId: string, cost: number): Promise<void> {
  const hundred = 100_000_000;
  const each = Math.ceil((cost * 1.2) / 4 / hundred) * hundred;
  for (const [place, daysAgo] of [days + 2, 22, 14, 5].entries()) {
    const at = now - daysAgo * dayMs;
    const note = `Invoice 2026-${String(place + 1041)}`;
    await storage.entries.record({ id: newId("led", at), accountId, kind: 1, amount: each, note, now: at });
  }
}

/** write writes calls that no hold covers: each is charged what it cost. */
async function write({ storage, now }: Stage, calls: readonly Capture[]): Promise<void> {
  const errors: unknown[] = [];
  const books = storage.openBooks(false)({
    ...{ node: newId("nod", now), clock: () => now, onError: (error) => void errors.push(error) },
    recall: () => ({ records: [], leases: [] }),
  });
  try {
    for (let at = 0; at < calls.length; at += batch) {
      const captures = calls.slice(at, at + batch).map((call) => ({ call, most: call.cost }));
      await books.decide(() => ({ records: [], leases: [], releases: [], holds: [], captures }));
    }
    const lastUse = new Map(calls.map(({ key_id, created_at }) => [key_id, created_at]));
    for (const [keyId, at] of lastUse) books.touch(keyId, at);
  } finally {
    await books.close();
  }
  if (errors.length > 0) throw errors[0];
}

async function endKeys({ storage }: Stage, accountId: string, keys: readonly PlannedKey[], callers: readonly Caller[]) {
  for (const [place, { isDisabled }] of keys.entries()) {
    if (isDisabled) await storage.keys.update(accountId, callers[place]?.keyId ?? "", { disabled: 1 });
  }
}
