/** Describes accounts, keys, and what is done once under an Idempotency-Key. */
import type { Tables } from "../../schema.ts";
import { bigint, idOf, integer, orNull, orZero, type TableShape, text, unique } from "./shape.ts";

/** Described is the shape of a table that stores know: it has their columns, and no others. */
export type Described<Name extends keyof Tables> = TableShape & {
  readonly name: Name;
  readonly columns: Readonly<Record<keyof Tables[Name], unknown>>;
};

export const accounts: Described<"accounts"> = {
  name: "accounts",
  columns: {
    id: text,
    name: unique(text),
    created_at: bigint,
    balance: orZero(bigint),
    held: orZero(bigint),
    recharged: orZero(bigint),
    postpaid: orZero(integer),
    suspended_at: orNull(bigint),
    was_postpaid: orZero(integer),
    time_zone: orNull(text),
    budgets: orNull(text),
  },
  key: ["id"],
  indexes: [{ name: "accounts_with_budgets", on: ["id"], where: { column: "budgets", is: "<>", value: "" } }],
  use: "hot",
};

export const apiKeys: Described<"api_keys"> = {
  name: "api_keys",
  columns: {
    id: text,
    account_id: idOf("accounts"),
    name: text,
    secret_hash: unique(text),
    secret_mask: text,
    is_admin: orZero(integer),
    created_at: bigint,
    revoked_at: orNull(bigint),
    spent: orZero(bigint),
    held: orZero(bigint),
    credit_limit: orNull(bigint),
    models: orNull(text),
    disabled: orZero(integer),
    expires_at: orNull(bigint),
    last_used_at: orNull(bigint),
    previous_hash: orNull(text),
    previous_expires_at: orNull(bigint),
    budgets: orNull(text),
    requests_per_minute: orNull(bigint),
    tokens_per_minute: orNull(bigint),
    model_rates: orNull(text),
    max_concurrent: orNull(bigint),
    allowed_ips: orNull(text),
    tags: orNull(text),
    owner: orNull(text),
  },
  key: ["id"],
  indexes: [
    { name: "api_keys_by_account", on: ["account_id", "id"] },
    { name: "api_keys_previous_hash", on: ["previous_hash"], isUnique: true },
    // Revoked keys add up for ever: those that work are counted and listed without going through them.
    { name: "api_keys_working", on: ["account_id", "revoked_at", "id"] },
    { name: "api_keys_with_budgets", on: ["id"], where: { column: "budgets", is: "<>", value: "" } },
  ],
  use: "hot",
};

export const idempotencyKeys: Described<"idempotency_keys"> = {
  name: "idempotency_keys",
  columns: { scope: text, key: text, fingerprint: text, result_id: text, created_at: bigint },
  key: ["scope", "key"],
  indexes: [{ name: "idempotency_keys_created_at", on: ["created_at"] }],
};
