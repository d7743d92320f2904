/** Compares the sums of usage with the calls that are kept, hour by hour, and remembers which hours were proved. */
import { createHash } from "node:crypto";
import { sql } from "kysely";
import { hourMs } from "../../runtime/time/durations.ts";
import { counted as inWords } from "../../runtime/words/counted.ts";
import { lost } from "../calls/outcomes.ts";
import { summedColumns } from "../columns.ts";
import type { Database } from "../engines/scope.ts";
import { type Counts, counted, type Found, found, type HourKey } from "./finding.ts";
import { callsIn, hourIn, type Spans } from "./spans.ts";
import { maxOfKind } from "./sums.ts";
import { summedTexts, wholeSums } from "./whole-sums.ts";

/** An hour is proved for good once it has been over for so long: calls that end later have it proved again. */
const settledMs = hourMs;

/** HourSum is what all keys of all accounts used in an hour: it may be more than a double counts exactly. */
export type HourSum = { readonly hour: number } & Readonly<WholeCounts>;
type WholeCounts = Record<keyof Counts, bigint>;
type CountTexts = Record<keyof Counts, string | null>;

/** Hours is what is known of the hours of a database, as the proof begins. */
export interface Hours {
  /** From when on calls are kept, in milliseconds since 1970; 0 where none was forgotten. */
  readonly keptFrom: number;
  readonly sums: readonly HourSum[];
  /** The hours that are as they were proved. */
  readonly closed: ReadonlySet<number>;
  /** found is what was found of hours whose calls are forgotten. */
  readonly found: readonly Found[];
}

/** readHours reads the sums of all hours, and compares those that were proved before with what they were then. */
export async function readHours(db: Database): Promise<Hours> {
  const sums = await hourSums(db);
  const cost = sql<string>`CAST(cost AS text)`.as("cost");
  const proved = await db.selectFrom("closed_periods").select(["hour", "requests", cost, "hash"]).execute();
  const kept = await db.selectFrom("kept_from").select("at").where("kind", "=", "requests").executeTakeFirst();
  const keptFrom = kept?.at ?? 0;
  const byHour = new Map(sums.map((sum) => [sum.hour, sum]));
  const changed = proved.filter(({ hour, hash }) => hashOf(byHour.get(hour)) !== hash);
  const changedHours = new Set(changed.map(({ hour }) => hour));
  return {
    keptFrom,
    sums,
    closed: new Set(proved.flatMap(({ hour }) => (changedHours.has(hour) ? [] : [hour]))),
    found: await forgottenChanges(
      db,
      changed.filter(({ hour }) => hour < keptFrom),
      byHour,
    ),
  };
}

async function hourSums(db: Database): Promise<HourSum[]> {
  const { rows } = await sql<{ hour: number } & CountTexts>`
    SELECT hour, ${summedTexts(counted)} FROM usage_hours_now GROUP BY hour ORDER BY hour`.execute(db);
  return rows.map((row) => ({ hour: row.hour, ...wholeSums(row, counted) }));
}

/** A call that ran for longer than calls are kept changes its hour rightly: its row is still there. */
async function forgottenChanges(
  db: Database,
  changed: readonly { readonly hour: number; readonly cost: string; readonly requests: number }[],
  now: ReadonlyMap<number, HourSum>,
): Promise<Found[]> {
  const findings: Found[] = [];
  for (const { hour, cost, requests } of changed) {
    const span = [{ from: hour, to: hour + hourMs }];
    const late = await sql`SELECT 1 FROM (${callsIn(span, sql`id`)}) AS late LIMIT 1`.execute(db);
    if (late.rows.length > 0) continue;
    const calls = Number(now.get(hour)?.requests ?? 0);
    const what = `usage of all keys from ${timeOf(hour)}${calls === requests ? "" : `: ${inWords(calls, "call")} ${calls === 1 ? "is" : "are"} written, ${requests} ${requests === 1 ? "follows" : "follow"}`}`;
    findings.push(found("forgotten_usage", { what, written: Number(now.get(hour)?.cost ?? 0), derived: Number(cost) }));
  }
  return findings.slice(0, maxOfKind);
}

/** compareHours compares the sums of hours in the open spans with their calls. */
export async function compareHours(db: Database, { open }: Spans, keptFrom: number): Promise<Found[]> {
  const rows = await differingHours(db, open, keptFrom);
  const findings: Found[] = [];
  for (const { account_id, key_id, model, hour, ...differences } of rows) {
    const row = { account_id, key_id, model, hour };
    const stored = await writtenOf(db, row);
    const name = `usage of ${key_id} with ${model} from ${timeOf(hour)}`;
    const subject = { id: key_id, accountId: account_id, hour: { ...row, by: negated(differences) } };
    const [written, derived] = bothSides(stored.cost, differences.cost);
    if (differences.cost !== 0n) findings.push(found("hour_cost", { what: name, written, derived, subject }));
    else if (differences.waived !== 0n) {
      const [waived, ofCalls] = bothSides(stored.waived, differences.waived);
      findings.push(
        found("operators_loss", { what: `operator's loss by ${name}`, written: waived, derived: ofCalls, subject }),
      );
    } else {
      const others = counted.filter((column) => differences[column] !== 0n);
      const told = others.map(
        (column) => `${column} ${stored[column]}, by the calls ${stored[column] - differences[column]}`,
      );
      findings.push(found("hour_usage", { what: `${name}: ${told.join("; ")}`, subject }));
    }
  }
  return findings;
}

/** bothSides returns what is written, and what follows where that differs by so much, as the nearest numbers. */
function bothSides(written: bigint, difference: bigint): [written: number, derived: number] {
  return [Number(written), Number(written - difference)];
}

function negated(counts: WholeCounts): Counts {
  return Object.fromEntries(counted.map((name) => [name, Number(-counts[name])])) as Counts;
}

type DifferingHour = HourKey & WholeCounts;

async function differingHours(db: Database, open: Spans["open"], keptFrom: number): Promise<DifferingHour[]> {
  const names = sql.join(counted.map((name) => sql.ref(name)));
  const ofCall = sql.join([
    sql`account_id, key_id, model, created_at - created_at % ${sql.lit(hourMs)} AS hour`,
    // A call that is lost counts as none.
    sql`CASE WHEN outcome = ${sql.lit(lost)} THEN 0 ELSE -1 END AS requests`,
    ...summedColumns.map((name) => sql`-${sql.ref(name)} AS ${sql.ref(name)}`),
  ]);
  const differ = sql.join(
    counted.map((name) => sql`sum(${sql.ref(name)}) <> 0`),
    sql` OR `,
  );
  const { rows } = await sql<HourKey & CountTexts>`
    SELECT account_id, key_id, model, hour, ${summedTexts(counted)}
    FROM (SELECT account_id, key_id, model, hour, ${names} FROM usage_hours_now WHERE ${hourIn(open)}
      UNION ALL ${callsIn(open, ofCall)}) AS both_sides
    WHERE hour >= ${keptFrom}
    GROUP BY account_id, hour, key_id, model HAVING ${differ}
    ORDER BY hour, key_id, model LIMIT ${sql.lit(maxOfKind)}`.execute(db);
  return rows.map((row) => ({ ...row, ...wholeSums(row, counted) }));
}

async function writtenOf(db: Database, { account_id, key_id, model, hour }: HourKey): Promise<WholeCounts> {
  const { rows } = await sql<CountTexts>`SELECT ${summedTexts(counted)} FROM usage_hours_now
    WHERE account_id = ${account_id} AND hour = ${hour} AND key_id = ${key_id} AND model = ${model}`.execute(db);
  return wholeSums(rows[0], counted);
}

/** closeHours remembers the hours that were proved just now, so that their calls are not read again. */
export async function closeHours(
  db: Database,
  { sums, closed, keptFrom }: Hours,
  { differing, now }: { readonly differing: ReadonlySet<number>; readonly now: number },
): Promise<void> {
  const proved = sums.filter(
    ({ hour }) => hour >= keptFrom && hour + hourMs + settledMs <= now && !differing.has(hour) && !closed.has(hour),
  );
  const rows = proved.map((sum) => ({
    hour: sum.hour,
    requests: Number(sum.requests),
    // Statements take it whole.
    cost: sum.cost as unknown as number,
    hash: hashOf(sum),
    proved_at: now,
  }));
  for (let at = 0; at < rows.length; at += rowsAtOnce)
    await db
      .insertInto("closed_periods")
      .values(rows.slice(at, at + rowsAtOnce))
      .onConflict((conflict) =>
        conflict.column("hour").doUpdateSet((row) => ({
          requests: row.ref("excluded.requests"),
          cost: row.ref("excluded.cost"),
          hash: row.ref("excluded.hash"),
          proved_at: row.ref("excluded.proved_at"),
        })),
      )
      .execute();
}

const rowsAtOnce = 500;

/** Columns that a later version adds are 0 in hours before: so they are left out where they are. */
function hashOf(sum: HourSum | undefined): string {
  // As JSON, which has no bigint.
  const named = counted.flatMap((name) => (sum && sum[name] !== 0n ? [`["${name}",${sum[name]}]`] : []));
  return createHash("sha256")
    .update(`[${named.join(",")}]`)
    .digest("hex");
}

function timeOf(hour: number): string {
  return `${new Date(hour).toISOString().slice(0, 16)}Z`;
}
