/**
 * Proves that no money was lost or made: computes every sum that is stored anew from what it sums, and looks for what should not be.
 *
 * The charge of a call is in its own row while that is kept, and in the ledger from then on (`calls/retention.ts`): so money is proved
 * to its beginning, and sums of usage as far back as calls are kept. What was proved once is remembered by the hour: a later proof
 * reads the calls of other hours only, and those of hours whose sums have changed since (`spans.ts`, `hours.ts`).
 * `reconcile-journal.ts` proves what is in the journal and not posted.
 *
 * It reads one state of the database, and writes nothing but which hours were proved. Findings are reported, and left as they are; `repair.ts`
 * puts some right. It takes seconds for every million calls that it reads, so a gateway on SQLite has a thread of its own for
 * it; the command does without.
 */
import { type RawBuilder, sql } from "kysely";
import { troubleOf } from "../../runtime/write-trouble.ts";
import type { Database } from "../engines/scope.ts";
import { compareBudgets } from "./budgets.ts";
import { findCharges } from "./charges.ts";
import type { Finding, Found } from "./finding.ts";
import { closeHours, compareHours, type Hours, readHours } from "./hours.ts";
import { findBroken } from "./invariants.ts";
import { oddOnesOut } from "./odd-ones-out.ts";
import { comparePrices } from "./prices.ts";
import { callsIn, type Spans, spansOf } from "./spans.ts";
import { compareSums } from "./sums.ts";

/** ReconcileOptions is what whoever asks for a proof may choose. */
export interface ReconcileOptions {
  /** Reads all calls that are kept, also of hours that were proved before. */
  readonly isFull?: boolean | undefined;
  /** Puts right what can be, after the proof. */
  readonly isRepairing?: boolean | undefined;
  /** Takes this moment for now, in milliseconds since 1970. */
  readonly now?: number | undefined;
}

export interface ProofOptions extends Pick<ReconcileOptions, "isFull"> {
  /** now is in milliseconds since 1970. */
  readonly now: number;
  /** False where nothing may be written, so that which hours were proved is forgotten. */
  readonly isRemembered?: boolean;
}

/** Proof is what was proved. */
export interface Proof {
  readonly accounts: number;
  readonly keys: number;
  /** entries is how many ledger entries were summed, with the charges of calls that were read. */
  readonly entries: number;
  /** requests is how many calls were read. */
  readonly requests: number;
  /** provedBefore is how many calls were proved by an earlier proof, and not read: the sums of their hours are as they were. */
  readonly provedBefore: number;
  /**
   * withoutPrice is how many of the calls that were read cost something and keep no price to compare that with, as those of older versions.
   */
  readonly withoutPrice: number;
  /** repaired is what was repaired of the findings, by `what`. */
  readonly repaired: readonly string[];
}

export interface Reconciliation extends Proof {
  /** At most 1,000 of each kind. */
  readonly findings: readonly Finding[];
}

/** prove yields what is found, and returns what was proved. It remembers the hours that were, unless the database is locked. */
export async function* prove(db: Database, options: ProofOptions): AsyncGenerator<Found, Proof> {
  const { proof, findings, hours } = await db
    .transaction()
    .setAccessMode("read only")
    .setIsolationLevel("repeatable read")
    .execute((state) => read(state, options));
  yield* findings;
  if (options.isRemembered === false) return proof;
  const differing = new Set(findings.flatMap(({ subject }) => subject?.hour?.hour ?? []));
  try {
    await closeHours(db, hours, { differing, now: options.now });
  } catch (error) {
    // Only the next proof takes longer then.
    if (!troubleOf(error)) throw error;
  }
  return proof;
}

/** reconciled collects what a proof yields and returns. */
export async function reconciled(proving: AsyncGenerator<Finding, Proof>): Promise<Reconciliation> {
  const findings: Finding[] = [];
  for (;;) {
    const { done, value } = await proving.next();
    if (done) return { ...value, findings };
    findings.push(value);
  }
}

interface Read {
  readonly proof: Proof;
  readonly findings: readonly Found[];
  readonly hours: Hours;
}

async function read(db: Database, { now, isFull = false }: ProofOptions): Promise<Read> {
  const known = await readHours(db);
  const hours: Hours = isFull ? { ...known, closed: new Set() } : known;
  const closed = [...hours.closed].filter((hour) => hour >= hours.keptFrom);
  const spans = spansOf(closed);
  const prices = await comparePrices(db, spans.open);
  const findings = [
    ...(await compareSums(db, spans)),
    ...(await findCharges(db)),
    ...(await compareHours(db, spans, hours.keptFrom)),
    ...(await compareBudgets(db, now)),
    ...(await findBroken(db, now)),
    ...hours.found,
    ...prices.found,
  ];
  return {
    proof: { ...(await count(db, spans, hours)), withoutPrice: prices.withoutPrice },
    findings: await oddOnesOut(db, findings),
    hours,
  };
}

async function count(db: Database, spans: Spans, { sums }: Hours): Promise<Omit<Proof, "withoutPrice">> {
  const of = async (rows: RawBuilder<unknown>) =>
    (await sql<{ count: number }>`SELECT count(*) AS count FROM ${rows}`.execute(db)).rows[0]?.count ?? 0;
  const { rows } = await sql<{ requests: number; charged: number }>`
    SELECT count(*) AS requests, count(*) FILTER (WHERE cost > 0) AS charged
    FROM (${callsIn(spans.open, sql`cost`)}) AS calls`.execute(db);
  const { requests = 0, charged = 0 } = rows[0] ?? {};
  const isClosed = (at: number) => spans.closed.some(({ from = 0, to = at }) => from <= at && at < to);
  return {
    accounts: await of(sql`accounts`),
    keys: await of(sql`api_keys`),
    entries: (await of(sql`ledger_entries`)) + charged,
    requests,
    provedBefore: sums.reduce((sum, { hour, requests: ofHour }) => sum + (isClosed(hour) ? Number(ofHour) : 0), 0),
    repaired: [],
  };
}
