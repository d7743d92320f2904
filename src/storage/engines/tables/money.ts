/** Describes what moves money, and what is held. */
import type { Described } from "./accounts.ts";
import { bigint, idOf, integer, orNull, orZero, text, unique } from "./shape.ts";

export const holds: Described<"holds"> = {
  name: "holds",
  columns: {
    request_id: text,
    node: text,
    account_id: text,
    key_id: text,
    operation: text,
    model: text,
    amount: bigint,
    created_at: bigint,
    expires_at: bigint,
  },
  key: ["request_id"],
  indexes: [
    // On Postgres deadlines are moved on in place, which no index may be of: all that runs is few rows.
    { name: "holds_expires_at", on: ["expires_at"], only: "sqlite" },
    // A row without an operation is a lease: those of an account are looked for before it is refused.
    { name: "holds_leases", on: ["account_id", "key_id"], where: { column: "operation", is: "=", value: "" } },
    // Finds the calls that came before a budget's window, or after it. Amounts change, so Postgres has no index of them.
    { name: "holds_arrival", on: ["account_id", "created_at"], where: { column: "operation", is: "<>", value: "" } },
  ],
  checks: ["amount >= 0"],
  use: "hot",
};

export const ledgerEntries: Described<"ledger_entries"> = {
  name: "ledger_entries",
  columns: {
    id: text,
    account_id: text,
    kind: integer,
    amount: bigint,
    request_id: orNull(unique(text)),
    key_id: orNull(text),
    note: orNull(text),
    created_at: bigint,
    calls: orNull(bigint),
  },
  key: ["id"],
  indexes: [
    { name: "ledger_entries_account", on: ["account_id", "id"] },
    // Charges are nearly all of them: who looks for anything else does not go through them.
    {
      name: "ledger_entries_no_charges",
      on: ["account_id", "id"],
      where: { column: "kind", is: "<>", value: 4 },
    },
  ],
};

export const spentByQuarter: Described<"spent_by_quarter"> = {
  name: "spent_by_quarter",
  columns: { subject: text, quarter_start: bigint, spent: orZero(bigint) },
  key: ["subject", "quarter_start"],
  indexes: [{ name: "spent_by_quarter_start", on: ["quarter_start"] }],
  use: "hot",
};

export const redeemCodes: Described<"redeem_codes"> = {
  name: "redeem_codes",
  columns: {
    id: text,
    batch_id: text,
    code_hash: unique(text),
    code_mask: text,
    amount: bigint,
    note: orNull(text),
    created_at: bigint,
    expires_at: orNull(bigint),
    claimed_at: orNull(bigint),
    claimed_by: orNull(idOf("accounts")),
    revoked_at: orNull(bigint),
  },
  key: ["id"],
  indexes: [{ name: "redeem_codes_batch", on: ["batch_id", "id"] }],
};

export const journals: Described<"journals"> = {
  name: "journals",
  columns: { node: text, posted: bigint, sum: orNull(text), is_open: orZero(integer) },
  key: ["node"],
  use: "hot",
};

export const databaseIdentity: Described<"database_identity"> = {
  name: "database_identity",
  columns: { id: text },
  key: ["id"],
};

export const setAside: Described<"set_aside"> = {
  name: "set_aside",
  columns: { node: text, seq: bigint, created_at: bigint, body: text },
  key: ["node", "seq"],
};

export const keptFrom: Described<"kept_from"> = {
  name: "kept_from",
  columns: { kind: text, at: bigint, id: text },
  key: ["kind"],
};

export const prices: Described<"prices"> = {
  name: "prices",
  columns: { id: text, card: text, created_at: bigint },
  key: ["id"],
};

export const closedPeriods: Described<"closed_periods"> = {
  name: "closed_periods",
  columns: { hour: bigint, requests: bigint, cost: bigint, hash: text, proved_at: bigint },
  key: ["hour"],
};
