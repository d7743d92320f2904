/**
 * What the database says after the crashes, against what the clients got and what the upstream answered.
 *
 * An answer that a client got in full is charged once, exactly what it costs. Beyond those only this is charged: a call
 * that its client left, once, for no more than the whole; and an answer whose settlement was written, and which the kill
 * caught on its way to the client: all of it had come from the upstream. What broke off anywhere else costs nothing.
 */
import { Outcome } from "../../gen/modelgateway/v1/usage_pb.ts";
import { holdMs } from "../../src/ledger/contract.ts";
import { createLeasedLedger } from "../../src/ledger/leases/leased-ledger.ts";
import { reconcile } from "../support/money/proof.ts";
import type { ClientCall } from "./load.ts";
import type { Stage } from "./stage.ts";
import { costOfCall } from "./upstream.ts";

export interface Verdict {
  /** What is wrong; empty where nothing is. */
  readonly faults: readonly string[];
  readonly calls: number;
  /** Calls whose client got all of the answer, and as many charges. */
  readonly answers: number;
  /** Calls that their client left, and for which it was charged. */
  readonly left: number;
  readonly leftCharged: number;
  /** Answers that were charged, and that the kill caught on their way. */
  readonly undelivered: number;
  /** Calls that died with the gateway, and cost nothing. */
  readonly lost: number;
  /** How often sums were left to be merged later. */
  readonly dueBatches: number;
}

const batchesMade = "SELECT seq FROM sqlite_sequence WHERE name = 'due_batches'";

interface Row {
  readonly id: string;
  readonly outcome: Outcome;
  readonly input: number;
  readonly cost: number;
  readonly waived: number;
}

/** Lets every hold reach its deadline. Returns what is wrong with that. */
export async function lapseAll({ storage, engine }: Stage): Promise<string[]> {
  const later = Date.now() + holdMs;
  const faults: string[] = [];
  const onError = (error: unknown) => void faults.push(String(error));
  const ledger = createLeasedLedger({ openBooks: storage.openBooks(true), clock: () => later, onError });
  await ledger.sweep();
  await ledger.close();
  return [...faults, ...heldFaults(engine)];
}

/** Returns what is still held. */
export function heldFaults(engine: Stage["engine"]): string[] {
  const sums = engine
    .prepare<[], Record<string, number>>(
      `SELECT (SELECT count(*) FROM holds) AS holds, (SELECT sum(held) FROM accounts) AS of_accounts,
         (SELECT sum(held) FROM api_keys_now) AS of_keys`,
    )
    .get();
  return Object.entries(sums ?? {}).flatMap(([what, held]) => (held === 0 ? [] : [`${what}: ${held} still held`]));
}

export async function reconcileFaults({ engine }: Stage): Promise<string[]> {
  return (await reconcile(engine)).findings.map((finding) => `reconcile: ${JSON.stringify(finding)}`);
}

export function verify(stage: Stage, calls: readonly ClientCall[]): Verdict {
  const rows = stage.engine.prepare<[], Row>("SELECT id, outcome, input, cost, waived FROM requests").all();
  const faults: string[] = [];
  const byId = new Map(rows.map((row) => [row.id, row]));
  const isOf = new Map<string, ClientCall>();
  for (const call of calls) {
    const row = call.id === undefined ? undefined : byId.get(call.id);
    if (row) isOf.set(row.id, call);
    if (call.status !== undefined && call.status !== 200) faults.push(`call ${call.number}: status ${call.status}`);
    if (call.end === "whole" && row?.outcome !== Outcome.ANSWERED) faults.push(`call ${call.number}: not charged`);
  }
  // A client that never saw the head of its answer does not know its id.
  const unnamed = new Map(calls.filter(({ id }) => id === undefined).map((call) => [call.number, call]));
  const charged = new Map<ClientCall, Row>();
  for (const row of rows) {
    if (row.waived !== 0) faults.push(`${row.id}: cost ${row.cost}, waived ${row.waived}`);
    if (row.cost === 0) {
      if (row.outcome !== Outcome.LOST) faults.push(`${row.id}: free, with outcome ${row.outcome}`);
      continue;
    }
    const call = isOf.get(row.id) ?? unnamed.get(row.input);
    if (!call) faults.push(`${row.id}: charged, and nobody's`);
    else if (charged.has(call)) faults.push(`call ${call.number}: charged twice`);
    else charged.set(call, row);
  }
  for (const [call, row] of charged) faults.push(...chargeFaults(stage, call, row));
  faults.push(...windowFaults(stage.engine));
  const count = (end: ClientCall["end"], from: Iterable<ClientCall>) =>
    [...from].filter((call) => call.end === end).length;
  return {
    faults,
    calls: calls.length,
    answers: count("whole", calls),
    left: count("left", calls),
    leftCharged: count("left", charged.keys()),
    undelivered: count("broken", charged.keys()),
    lost: rows.filter(({ outcome }) => outcome === Outcome.LOST).length,
    dueBatches: stage.engine.prepare<[], { seq: number }>(batchesMade).get()?.seq ?? 0,
  };
}

/** What budgets count in a quarter of an hour is what the calls that came in it have cost, of each account and key with budgets. */
function windowFaults(engine: Stage["engine"]): string[] {
  return engine
    .prepare<[], { fault: string }>(
      `WITH subjects AS (SELECT id FROM accounts WHERE budgets <> '' UNION ALL SELECT id FROM api_keys WHERE budgets <> ''),
         calls AS (SELECT s.id, r.created_at - r.created_at % 900000 AS quarter, sum(r.cost) AS cost
           FROM requests r JOIN subjects s ON s.id IN (r.account_id, r.key_id) WHERE r.cost <> 0 GROUP BY 1, 2)
       SELECT coalesce(c.id, q.subject) || ' has spent ' || coalesce(q.spent, 0) || ' in a quarter whose calls cost ' ||
         coalesce(c.cost, 0) AS fault
       FROM calls c FULL JOIN spent_by_quarter q ON q.subject = c.id AND q.quarter_start = c.quarter
       WHERE coalesce(q.spent, 0) <> coalesce(c.cost, 0)`,
    )
    .all()
    .map(({ fault }) => fault);
}

function chargeFaults({ upstream }: Stage, { number, end }: ClientCall, { outcome, cost }: Row): string[] {
  const whole = costOfCall(number);
  if (outcome === Outcome.LEFT && end === "left" && cost <= whole) return [];
  if (outcome === Outcome.ANSWERED && cost === whole && upstream.answered.has(number)) return [];
  return [`call ${number}, ${end} to its client: outcome ${outcome}, charged ${cost} of ${whole}`];
}
