/**
 * Sets sums that alone are wrong to what follows from entries, calls and holds. Each is one transaction, which records it in the audit
 * log with both amounts.
 *
 * A repair adds the difference that the proof has found: gateways go on meanwhile, and whatever they write changes both sides alike.
 * Another repair would not, so one that was recorded after the proof began keeps this one from being made.
 */
import { type RawBuilder, sql } from "kysely";
import { newId } from "../../runtime/ids.ts";
import { hourMs } from "../../runtime/time/durations.ts";
import { StorageError } from "../../runtime/write-trouble.ts";
import type { Database } from "../engines/scope.ts";
import { quarterMs } from "../money/budget-windows.ts";
import { counted, type Finding, type Found } from "./finding.ts";
import { type Proof, prove, type ReconcileOptions } from "./proof.ts";

export interface RepairOptions {
  /** now is in milliseconds since 1970. */
  readonly now: number;
  /** made is how many repairs were recorded when the proof began, as `repairsMade` tells. */
  readonly made: number;
}

/** The action of its audit events. */
const repairAction = "Proof.Repaired";

/** proveAndRepair proves the sums as `prove` does, and then repairs what it found if that is asked for. */
export async function* proveAndRepair(
  db: Database,
  { isFull, isRepairing = false, now = Date.now() }: ReconcileOptions,
): AsyncGenerator<Finding, Proof> {
  const made = isRepairing ? await repairsMade(db) : 0;
  const proving = prove(db, { now, isFull });
  const findings: Found[] = [];
  for (;;) {
    const { done, value } = await proving.next();
    if (done) {
      const repaired = isRepairing ? await repair(db, findings, { now, made }) : [];
      return { ...value, repaired: repaired.map(({ what }) => what) };
    }
    findings.push(value);
    yield value;
  }
}

/** repairsMade returns how many repairs the audit log has. */
async function repairsMade(db: Database): Promise<number> {
  const { made } = await db
    .selectFrom("acts")
    .select((acts) => acts.fn.countAll<number>().as("made"))
    .where("action", "=", repairAction)
    .executeTakeFirstOrThrow();
  return Number(made);
}

/** repair puts the findings right that can be. Returns those. */
async function repair(db: Database, findings: readonly Found[], { now, made }: RepairOptions): Promise<Found[]> {
  const repaired: Found[] = [];
  for (const finding of findings) {
    const change = finding.isRepairable ? changeOf(finding) : undefined;
    if (!change) continue;
    const isDone = await db.transaction().execute(async (trx) => {
      // Nobody else repairs until this is committed. Whoever writes the sum at this moment is waited for.
      await sql`UPDATE database_identity SET id = id`.execute(trx);
      const { numAffectedRows = 0n } = await change.execute(trx);
      if (numAffectedRows === 0n) return false;
      if ((await repairsMade(trx)) !== made + repaired.length) throw repairedMeanwhile();
      await trx.insertInto("acts").values(eventOf(finding, now)).execute();
      return true;
    });
    if (isDone) repaired.push(finding);
  }
  return repaired;
}

/** repairedMeanwhile says that another repair was made after the proof had begun: its findings may be put right already. */
function repairedMeanwhile(): StorageError {
  return new StorageError("another process has repaired sums meanwhile: repeat the command");
}

function changeOf({ kind, subject, written, derived }: Found): RawBuilder<unknown> | undefined {
  if (!subject) return undefined;
  const { id, hour, spentIn } = subject;
  const by = derived - written;
  const add = (table: string, column: string) =>
    sql`UPDATE ${sql.table(table)} SET ${sql.ref(column)} = ${sql.ref(column)} + ${by} WHERE id = ${id}`;
  if (kind === "balance") return add("accounts", "balance");
  if (kind === "recharged") return add("accounts", "recharged");
  if (kind === "account_held") return add("accounts", "held");
  if (kind === "key_held") return add("api_keys", "held");
  if (kind === "key_spent") return add("api_keys", "spent");
  if (spentIn !== undefined) return addSpent(id, spentIn, by);
  if (!hour) return undefined;
  const { account_id, key_id, model, hour: at, by: missing } = hour;
  const names = counted.map((name) => sql.ref(name));
  const sums = counted.map(
    (name) => sql`${sql.ref(name)} = ${sql.ref(`usage_hours.${name}`)} + ${sql.ref(`excluded.${name}`)}`,
  );
  return sql`INSERT INTO usage_hours (account_id, hour, key_id, model, ${sql.join(names)})
    VALUES (${account_id}, ${at}, ${key_id}, ${model}, ${sql.join(counted.map((name) => missing[name]))})
    ON CONFLICT (account_id, hour, key_id, model) DO UPDATE SET ${sql.join(sums)}`;
}

/** addSpent adds to the last quarter of the hour: nothing says in which the missing calls came. */
function addSpent(subject: string, hour: number, by: number): RawBuilder<unknown> {
  return sql`INSERT INTO spent_by_quarter (subject, quarter_start, spent) VALUES (${subject}, ${hour + hourMs - quarterMs}, ${by})
    ON CONFLICT (subject, quarter_start) DO UPDATE SET spent = spent_by_quarter.spent + excluded.spent`;
}

function eventOf({ kind, what, subject, written, derived }: Found, now: number) {
  return {
    id: newId("act", now),
    created_at: now,
    action: repairAction,
    actor_kind: "command_line",
    actor_id: "",
    account_id: subject?.accountId ?? "",
    subject: subject?.id ?? "",
    details: JSON.stringify({ kind, what, written, derived }),
    refused: "",
    address: "",
  };
}
