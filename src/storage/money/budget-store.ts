/**
 * Keeps what is known of budgets besides deciding by them: setting those of an account or a key, and how much of each is spent.
 *
 * Spending is summed by quarters of an hour (`spent_by_quarter`), for accounts and keys with budgets only. One that gets its first budget
 * has the sums of before filled in, in the same transaction; the books add what comes later. Times are milliseconds since 1970.
 */
import { type RawBuilder, sql } from "kysely";
import { firstIdAt } from "../../runtime/ids.ts";
import { dayMs, hourMs } from "../../runtime/time/durations.ts";
import type { Database, Scope } from "../engines/scope.ts";
import { defaultZone, longestWindowMs, quarterMs } from "./budget-windows.ts";
import {
  type BudgetLeft,
  type BudgetTerms,
  type BudgetUse,
  type BudgetWindow,
  budgetLeft,
  byTightness,
  readBudgets,
  windowsOf,
} from "./budgets.ts";

/** BudgetStatus is a budget, in its window of now, and how much of it is spent and held. */
export interface BudgetStatus extends BudgetUse {
  readonly window: BudgetWindow;
}

/** Budgeted is whose budgets are asked for: an account, or one of its keys where `keyId` is set. */
export interface Budgeted {
  readonly accountId: string;
  readonly keyId?: string | undefined;
  /** As they are stored. */
  readonly budgets: string | null;
}

export interface BudgetStore {
  /** Returns how budgets stand at a moment, in their order, by the ids of their accounts and keys; nothing of those that have none. */
  statuses(all: readonly Budgeted[], now: number): Promise<ReadonlyMap<string, readonly BudgetStatus[]>>;
  /** Returns what each budget of an account and a key leaves at a moment, the tightest first. */
  left(
    accountId: string,
    keyId: string,
    terms: Pick<BudgetTerms, "ofAccount" | "ofKey">,
    now: number,
  ): Promise<readonly BudgetLeft[]>;
}

export function budgetStore(scope: Scope): BudgetStore {
  const statuses = createStatuses(scope);
  return {
    statuses,
    async left(accountId, keyId, { ofAccount, ofKey }, now) {
      const asked = [
        { accountId, budgets: ofAccount },
        { accountId, keyId, budgets: ofKey },
      ];
      const all = [...(await statuses(asked, now)).values()].flat();
      return byTightness(all.map(({ window, ...use }) => budgetLeft(window, use)));
    },
  };
}

function createStatuses({ db }: Scope): BudgetStore["statuses"] {
  return async (all, now) => {
    const budgeted = all.filter(({ budgets }) => budgets !== null);
    if (budgeted.length === 0) return new Map();
    const accounts = [...new Set(budgeted.map(({ accountId }) => accountId))];
    const zones = await zonesOf(db, accounts);
    const windows = budgeted.flatMap(({ accountId, keyId, budgets }) => {
      const whose = keyId === undefined ? ({ of: "account", subject: accountId } as const) : ofKey(keyId);
      return windowsOf(readBudgets(budgets), whose, zones.get(accountId) ?? defaultZone, now);
    });
    const spans = Map.groupBy(windows, ({ from, to }) => `${from} ${to}`);
    const uses = new Map<BudgetWindow, BudgetUse>();
    for (const alike of spans.values())
      for (const [window, use] of await usesIn(db, alike, accounts)) uses.set(window, use);
    const statuses = windows.map((window) => ({ window, ...(uses.get(window) as BudgetUse) }));
    return Map.groupBy(statuses, ({ window }) => window.subject);
  };
}

const ofKey = (keyId: string) => ({ of: "key", subject: keyId }) as const;

async function zonesOf(db: Database, accounts: readonly string[]): Promise<ReadonlyMap<string, string | null>> {
  const rows = await db.selectFrom("accounts").select(["id", "time_zone"]).where("id", "in", accounts).execute();
  return new Map(rows.map(({ id, time_zone }) => [id, time_zone]));
}

/** usesIn sums what was spent and is held in windows of the same span. */
async function usesIn(
  db: Database,
  windows: readonly BudgetWindow[],
  accounts: readonly string[],
): Promise<Map<BudgetWindow, BudgetUse>> {
  const [{ from, to }] = windows as [BudgetWindow];
  const subjects = [...new Set(windows.map(({ subject }) => subject))];
  const spent = await db
    .selectFrom("spent_now")
    .select(({ fn }) => ["subject", fn.sum("spent").as("spent"), fn.min("quarter_start").as("oldest")])
    .where("subject", "in", subjects)
    .where("quarter_start", ">=", from)
    .where("quarter_start", "<", to)
    .groupBy("subject")
    .execute();
  const held = await db
    .selectFrom("holds")
    .select(({ fn }) => ["account_id", "key_id", fn.sum("amount").as("held")])
    .where("account_id", "in", accounts)
    .where("operation", "!=", "")
    .where("created_at", ">=", from)
    .where("created_at", "<", to)
    .groupBy(["account_id", "key_id"])
    .execute();
  const bySubject = new Map(spent.map((row) => [row.subject, row]));
  return new Map(
    windows.map((window) => {
      const { of, subject } = window;
      const row = bySubject.get(subject);
      const own = held.filter((one) => (of === "key" ? one.key_id : one.account_id) === subject);
      const use = {
        spent: Number(row?.spent ?? 0),
        held: own.reduce((sum, one) => sum + Number(one.held), 0),
        oldest: row ? Number(row.oldest) : undefined,
      };
      return [window, use];
    }),
  );
}

/** So far clocks may be set back, without anything being looked for that is not there; in milliseconds. */
const setBackMs = 8 * dayMs;

/** With more calls than this within the longest window, what was spent before the first budget counts by hours, and not by quarters. */
const maxCallsRead = 100_000;

/**
 * budgetsChanged fills in what an account or a key has spent before its first budget, and forgets that of one that has none any more. It
 * runs within the transaction that changes budgets, which keeps others from changing the account.
 */
export async function budgetsChanged(
  db: Database,
  changed: Budgeted,
  before: string | null,
  now: number,
): Promise<void> {
  const { accountId, keyId, budgets } = changed;
  if ((budgets === null) === (before === null)) return;
  const subject = keyId ?? accountId;
  await db.deleteFrom("spent_by_quarter").where("subject", "=", subject).execute();
  if (budgets === null) return;
  const from = Math.floor((now - longestWindowMs - setBackMs) / hourMs) * hourMs;
  const detailFrom = Math.max(from, await detailedFrom(db, accountId, from, now));
  await sql`INSERT INTO spent_by_quarter (subject, quarter_start, spent)
    SELECT CAST(${subject} AS text), quarter_start, sum(spent) FROM (${spentBefore(changed, from, detailFrom)}) AS s
    GROUP BY quarter_start HAVING sum(spent) <> 0`.execute(db);
}

/**
 * detailedFrom returns from when on an account's calls are read one by one. Where an hour alone is known its spending counts in its last
 * quarter, so that no window has less than was spent in it: calls are forgotten, or too many. The hour that runs is read in any case: its
 * last quarter may be of the next window.
 */
async function detailedFrom(db: Database, accountId: string, from: number, now: number): Promise<number> {
  const { calls } = await db
    .selectFrom("usage_hours_now")
    .select(({ fn }) => fn.sum("requests").as("calls"))
    .where("account_id", "=", accountId)
    .where("hour", ">=", from)
    .executeTakeFirstOrThrow();
  if (Number(calls ?? 0) > maxCallsRead) return Math.floor(now / hourMs) * hourMs;
  const kept = await db.selectFrom("kept_from").select("at").where("kind", "=", "requests").executeTakeFirst();
  return kept?.at ?? 0;
}

/** spentBefore sums what was spent, less what the books add later by themselves, as on Postgres what is due. */
function spentBefore({ accountId, keyId }: Budgeted, from: number, detailFrom: number): RawBuilder<unknown> {
  const own =
    keyId === undefined ? sql`account_id = ${accountId}` : sql`account_id = ${accountId} AND key_id = ${keyId}`;
  const [begin, detail] = [sql.lit(from), sql.lit(detailFrom)];
  const lastQuarter = (hour: RawBuilder<unknown>) => sql`${hour} + ${sql.lit(hourMs - quarterMs)}`;
  const quarterOf = sql`created_at - created_at % ${sql.lit(quarterMs)}`;
  const hourOf = sql`(quarter_start - quarter_start % ${sql.lit(hourMs)})`;
  const parts = [
    sql`SELECT ${lastQuarter(sql`hour`)} AS quarter_start, cost AS spent FROM usage_hours_now
      WHERE ${own} AND hour >= ${begin} AND hour < ${detail}`,
    sql`SELECT CASE WHEN quarter_start < ${detail} THEN ${lastQuarter(hourOf)} ELSE quarter_start END, -spent FROM spent_now
      WHERE subject = ${keyId ?? accountId} AND quarter_start >= ${begin}`,
    // A call's id has the time when its head came, which is before its body.
    sql`SELECT ${quarterOf}, cost FROM requests
      WHERE ${own} AND id >= ${firstIdAt("req", Math.max(0, detailFrom - dayMs))} AND created_at >= ${detail}`,
  ];
  return sql.join(parts, sql` UNION ALL `);
}
