/**
 * Furnishes the demo (`npm run demo -- --furnished`): accounts, thirty keys, and a month of calls at three vendors, as if they had been
 * made. The calls go through the books, so that every sum is the ledger's and `reconcile` finds nothing. What is asked of the
 * vendors from then on needs their keys in the environment; the embedded models answer at once.
 */
import { EntryKind } from "../../../gen/modelgateway/v1/accounts_pb.ts";
import { tierOf } from "../../call/tiers.ts";
import { createPastCharges, type PastCharges } from "../../composition/past-charges.ts";
import type { Config } from "../../config/config.ts";
import { formatDecimal } from "../../runtime/decimal.ts";
import { newId } from "../../runtime/ids.ts";
import { hashPassword, newPassword } from "../../runtime/secrets.ts";
import { dayMs, hourMs, minuteMs } from "../../runtime/time/durations.ts";
import { issueKey } from "../../services/keys/issue-key.ts";
import { addUser } from "../../services/people/add-user.ts";
import type { Capture } from "../../storage/columns.ts";
import type { Storage } from "../../storage/storage.ts";
import { createCatalog, type Model } from "../../targets/catalog.ts";
import { furnishBudgets } from "./budgets.ts";
import { withinLimits } from "./credit-limits.ts";
import { type Actor, recordEvent } from "./events.ts";
import { labelsOf } from "./labels.ts";
import { habits, type PlannedAccount, type PlannedKey, plannedAccounts } from "./plan.ts";
import { createRandom, type Random } from "./random.ts";
import { furnishRefusals } from "./refusals.ts";
import { type Caller, days, madeCalls } from "./traffic.ts";

const seed = 20_261_126;
/** batch is how many calls a transaction of the books has. */
const batch = 400;

export interface FurnishOptions {
  readonly config: Pick<Config, "models" | "tiers" | "unit">;
  readonly storage: Storage;
  /** The demo's own account, which has the first plan. */
  readonly accountId: string;
  /** now is in milliseconds since 1970. */
  readonly now: number;
}

/** furnish makes the demo's accounts and calls, once: nothing happens where the accounts are there already. */
export async function furnish({ config, storage, accountId, now }: FurnishOptions): Promise<void> {
  const last = plannedAccounts.at(-1)?.name ?? "";
  if (await storage.accounts.find(last)) return;
  const models = new Map(
    createCatalog(config.models)
      .list()
      .map((model) => [model.id, model]),
  );
  const stage = { config, storage, models, random: createRandom(seed), charges: createPastCharges(), now };
  for (const [place, planned] of plannedAccounts.entries()) {
    const id = place === 0 ? accountId : await account(stage, planned, place);
    await furnishAccount({ ...stage, place }, id, planned);
  }
}

interface Stage {
  readonly config: FurnishOptions["config"];
  readonly storage: Storage;
  readonly models: ReadonlyMap<string, Model>;
  readonly random: Random;
  readonly charges: PastCharges;
  readonly now: number;
}

/** foundedAt returns when the demo's own account was founded, for all that it has is younger; the others followed within hours. */
export function foundedAt(now: number): number {
  return now - (days + 5) * dayMs - 3 * hourMs;
}

/** foundAccount creates the demo's own account, as if it had been there for a month. One of this name that is there already stays as it is. */
export async function foundAccount(storage: Storage, name: string, now: number): Promise<void> {
  const at = foundedAt(now);
  const id = newId("acc", at);
  if (!(await storage.accounts.insert({ id, name, created_at: at, postpaid: 0 }))) return;
  await recordEvent(storage, { action: "OperatorService.CreateAccount", accountId: id, details: { name }, at });
}

async function account(
  { storage, now, random }: Stage,
  { name, postpaid, user }: PlannedAccount,
  place: number,
): Promise<string> {
  const at = foundedAt(now) + place * 25 * minuteMs + random.whole(0, 20 * minuteMs);
  const id = newId("acc", at);
  await storage.accounts.insert({ id, name, created_at: at, postpaid: postpaid ? 1 : 0 });
  const details = { name, postpaid: postpaid ?? false };
  await recordEvent(storage, { action: "OperatorService.CreateAccount", accountId: id, details, at });
  if (user === undefined) return id;
  const joinedAt = at + random.whole(2 * minuteMs, 25 * minuteMs);
  const passwordHash = await hashPassword(newPassword());
  const init = { email: user, passwordHash, accountId: id, operator: false, now: joinedAt };
  const userId = await storage.transact((stores) => addUser(stores, init));
  const by = { accountId: id, user: { id: userId, email: user }, subject: userId };
  const registered = { ...by, details: { email: user }, at: joinedAt };
  await recordEvent(storage, { action: "SessionService.Register", ...registered });
  return id;
}

/** AccountStage is the stage of one account: `place` is which of the planned ones it is. */
interface AccountStage extends Stage {
  readonly place: number;
}

async function furnishAccount(stage: AccountStage, accountId: string, planned: PlannedAccount): Promise<void> {
  const { config, storage, charges, place, now } = stage;
  const [user] = await storage.users.page({ search: accountId, limit: 1 });
  const owner = { accountId, user };
  const callers: Caller[] = [];
  for (const plannedKey of planned.keys) callers.push(await caller(stage, owner, plannedKey));
  const weighed = callers.filter(({ weight }) => weight > 0);
  const asked = weighed.length === 0 ? [] : madeCalls({ ...stage, callers: weighed, callsADay: planned.calls });
  const limits = new Map(
    planned.keys.flatMap(({ limit }, place) => {
      const keyId = callers[place]?.keyId;
      return limit === undefined || keyId === undefined ? [] : [[keyId, limit * 1_000_000] as const];
    }),
  );
  const { paid: calls, short } = withinLimits(asked, limits);
  const cost = calls.reduce((sum, call) => sum + call.cost, 0);
  const payments = planned.postpaid || cost === 0 ? [] : await payFor(stage, accountId, cost);
  for (const [id, card] of charges.cards) await storage.prices.keep(id, card, now);
  await write(stage, calls);
  if (cost > 0 && !planned.postpaid) await furnishBudgets({ ...stage, accountId, callers: weighed, calls });
  const rechargedAt = (moment: number) =>
    payments.reduce((sum, { at, amount }) => (at <= moment ? sum + amount : sum), 0);
  await furnishRefusals(storage, {
    ...{ callers: weighed, short, callsADay: planned.calls, models: stage.models, now },
    // Each account has its own sequence: else they would be refused at the same moments.
    random: createRandom(seed + 1 + place),
    tierAt: (at) => tierOf(config.tiers, rechargedAt(at)),
    unit: config.unit.code,
  });
  await endKeys(stage, owner, planned.keys, callers);
  if (!planned.suspended) return;
  const at = now - 3 * dayMs - 47 * minuteMs;
  await storage.accounts.update(accountId, { suspended_at: at });
  const suspension = { action: "OperatorService.UpdateAccount", accountId, details: { suspended: true }, at };
  await recordEvent(storage, suspension);
}

/** Owner is an account, and its first user, where it has one. */
interface Owner {
  readonly accountId: string;
  readonly user: Actor | undefined;
}

async function caller(
  { storage, random, now }: Stage,
  { accountId, user }: Owner,
  planned: PlannedKey,
): Promise<Caller> {
  const { name, habit, weight, age, limit, isAdmin = false, models, expiresIn } = planned;
  const createdAt = now - age * dayMs - random.whole(0, 7 * hourMs);
  const expiresAt = expiresIn === undefined ? null : now + expiresIn * dayMs;
  const { key } = await issueKey(storage.keys, {
    ...{ accountId, name, admin: isAdmin, now: createdAt, expiresAt },
    creditLimit: limit === undefined ? null : limit * 1_000_000,
    models: models ? JSON.stringify(models) : null,
    limits: labelsOf(planned),
  });
  const details = { name, ...(limit === undefined ? {} : { credit_limit: formatDecimal(limit * 1_000_000) }) };
  const creation = { action: "KeyService.CreateKey", accountId, user, subject: key.id, details, at: createdAt };
  await recordEvent(storage, creation);
  const allowed = habits[habit].filter((one) => models === undefined || models.includes(one.model));
  const to = Math.min(expiresAt ?? now, planned.isDisabled ? disabledAt(now) : now);
  const own = allowed.length > 0 ? allowed : habits[habit].filter(({ model }) => model.startsWith("gpt"));
  return { accountId, keyId: key.id, weight, habits: own, planned: habit, key, from: createdAt, to };
}

interface Payment {
  readonly amount: number;
  /** at is in milliseconds since 1970. */
  readonly at: number;
}

/** payFor records the money that came in: four payments, in whole hundreds, of which some is left. */
async function payFor(
  { storage, place, random, now }: AccountStage,
  accountId: string,
  cost: number,
): Promise<readonly Payment[]> {
  const hundred = 100_000_000;
  const amount = Math.ceil((cost * 1.2) / 4 / hundred) * hundred;
  const payments: Payment[] = [];
  for (const [round, daysAgo] of [days + 2, 22, 14, 5].entries()) {
    const at = now - daysAgo * dayMs - random.whole(0, 6 * hourMs);
    const note = `Invoice 2026-${1041 + round * plannedAccounts.length + place}`;
    const id = newId("led", at);
    await storage.entries.record({ id, accountId, kind: EntryKind.RECHARGE, amount, note, now: at });
    const details = { kind: "recharge", amount: formatDecimal(amount), note };
    await recordEvent(storage, { action: "OperatorService.RecordEntry", accountId, subject: id, details, at });
    payments.push({ amount, at });
  }
  return payments;
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

function disabledAt(now: number): number {
  return now - 4 * dayMs - 71 * minuteMs;
}

async function endKeys(
  { storage, now }: Stage,
  { accountId, user }: Owner,
  keys: readonly PlannedKey[],
  callers: readonly Caller[],
) {
  for (const [place, { isDisabled }] of keys.entries()) {
    if (!isDisabled) continue;
    const keyId = callers[place]?.keyId ?? "";
    await storage.keys.update(accountId, keyId, { disabled: 1 });
    const change = { accountId, user, subject: keyId, details: { disabled: true }, at: disabledAt(now) };
    await recordEvent(storage, { action: "KeyService.UpdateKey", ...change });
  }
}
