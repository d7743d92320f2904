/** Finds what no sequence of recharges and calls leads to, whatever the sums say. */
import { type RawBuilder, sql } from "kysely";
import { hourMs } from "../../runtime/time/durations.ts";
import type { Database } from "../engines/scope.ts";
import { type FindingKind, type Found, found } from "./finding.ts";
import { maxOfKind } from "./sums.ts";

/** A hold that has expired for so long was left behind: gateways release what has expired within seconds. */
const abandonedMs = hourMs;

interface Broken {
  readonly id: string;
  readonly account_id: string;
  /** Whole numbers, as texts: a row that was changed may have more than a double counts exactly. */
  readonly written: string;
  readonly derived: string;
}

interface Invariant {
  readonly kind: FindingKind;
  readonly nameOf: (row: Broken) => string;
  /** A query of rows that break it. */
  readonly broken: RawBuilder<unknown>;
}

/** findBroken finds accounts, keys, holds and codes that break an invariant. `now` is in milliseconds since 1970. */
export async function findBroken(db: Database, now: number): Promise<Found[]> {
  const all: Found[] = [];
  for (const { kind, nameOf, broken } of [...noNumbers, ...ofAccounts, ...ofKeys, ofHolds(now), ...ofCodes]) {
    const { rows } =
      await sql<Broken>`SELECT id, account_id, CAST(written AS text) AS written, CAST(derived AS text) AS derived
      FROM (${broken}) AS broken ORDER BY id LIMIT ${sql.lit(maxOfKind)}`.execute(db);
    all.push(
      ...rows.map((row) => {
        const { id, account_id } = row;
        const [written, derived] = [Number(row.written), Number(row.derived)];
        return found(kind, { what: nameOf(row), written, derived, subject: { id, accountId: account_id } });
      }),
    );
  }
  return all;
}

/** Amounts, by their table and its columns for an id and an account. */
const amounts: readonly (readonly [table: string, id: string, account: string, columns: readonly string[]])[] = [
  ["accounts", "id", "id", ["balance", "held", "recharged"]],
  ["api_keys", "id", "account_id", ["spent", "held", "credit_limit"]],
  ["ledger_entries", "id", "account_id", ["amount"]],
  ["holds", "request_id", "account_id", ["amount"]],
];

/** SQLite keeps what is no whole number as it is, and counts it by its first digits, or as 0: the sums may agree with that. */
const noNumbers: readonly Invariant[] = amounts.flatMap(([table, id, account, columns]) =>
  columns.map((column): Invariant => {
    const amount = sql.ref(column);
    return {
      kind: "no_number",
      nameOf: (row) => `${column} of ${row.id}`,
      broken: sql`SELECT ${sql.ref(id)} AS id, ${sql.ref(account)} AS account_id, 0 AS written, 0 AS derived
        FROM ${sql.table(table)} WHERE CAST(CAST(${amount} AS bigint) AS text) <> CAST(${amount} AS text)`,
    };
  }),
);

/** An account that was postpaid once keeps what it owes, and pays calls of before. */
const ofAccounts: readonly Invariant[] = [
  {
    kind: "overdrawn",
    nameOf: ({ id }) => `balance less holds of ${id}, which is prepaid`,
    broken: sql`SELECT id, id AS account_id, balance - held AS written, 0 AS derived
      FROM accounts_now WHERE was_postpaid = 0 AND balance < held`,
  },
  ...["recharged", "held"].map(
    (name): Invariant => ({
      kind: "below_zero",
      nameOf: ({ id }) => `${name} of ${id}`,
      broken: sql`SELECT id, id AS account_id, ${sql.ref(name)} AS written, 0 AS derived FROM accounts_now WHERE ${sql.ref(name)} < 0`,
    }),
  ),
];

const ofKeys: readonly Invariant[] = [
  {
    kind: "over_limit",
    nameOf: ({ id }) => `spend and holds of ${id}, which has a limit`,
    broken: sql`SELECT id, account_id, spent + held AS written, credit_limit AS derived
      FROM api_keys_now WHERE credit_limit IS NOT NULL AND spent + held > credit_limit`,
  },
  ...["spent", "held"].map(
    (name): Invariant => ({
      kind: "below_zero",
      nameOf: ({ id }) => `${name} of ${id}`,
      broken: sql`SELECT id, account_id, ${sql.ref(name)} AS written, 0 AS derived FROM api_keys_now WHERE ${sql.ref(name)} < 0`,
    }),
  ),
];

function ofHolds(now: number): Invariant {
  return {
    kind: "abandoned_hold",
    nameOf: ({ id }) => `hold ${id}`,
    broken: sql`SELECT request_id AS id, account_id, amount AS written, 0 AS derived
      FROM holds WHERE expires_at < ${now - abandonedMs}`,
  };
}

const ofCodes: readonly Invariant[] = [
  {
    // A code and its recharge are written in one transaction, with one moment and amount.
    kind: "code_without_recharge",
    nameOf: ({ id, account_id }) => `codes that ${account_id} claimed, as ${id}`,
    broken: sql`SELECT max(code) AS id, account_id, sum(codes) AS written, sum(recharges) AS derived
      FROM (SELECT claimed_by AS account_id, claimed_at AS at, amount, id AS code, amount AS codes, 0 AS recharges
          FROM redeem_codes WHERE claimed_at IS NOT NULL
        UNION ALL SELECT e.account_id, e.created_at, e.amount, '', 0, e.amount
          FROM ledger_entries e WHERE e.kind <> 4 AND e.kind = 1) AS claimed
      GROUP BY account_id, at, amount HAVING sum(codes) > sum(recharges)`,
  },
  {
    kind: "code_contradicts",
    nameOf: ({ id }) => `redeem code ${id}`,
    broken: sql`SELECT id, coalesce(claimed_by, '') AS account_id, amount AS written, 0 AS derived FROM redeem_codes
      WHERE (claimed_at IS NULL AND claimed_by IS NOT NULL) OR (claimed_at IS NOT NULL AND (claimed_by IS NULL OR revoked_at IS NOT NULL))`,
  },
];
