/** Describes people who sign in to the dashboard, and what was done. */
import type { Described } from "./accounts.ts";
import { bigint, idOf, idOfOwner, integer, orNull, orZero, text, unique } from "./shape.ts";

export const users: Described<"users"> = {
  name: "users",
  columns: {
    id: text,
    account_id: idOf("accounts"),
    email: unique(text),
    password_hash: text,
    created_at: bigint,
    is_operator: orZero(integer),
    totp_secret: orNull(text),
    totp_pending: orNull(text),
    totp_step: orZero(bigint),
    recovery_hashes: orNull(text),
  },
  key: ["id"],
  indexes: [
    { name: "users_operators", on: ["id"], where: { column: "is_operator", is: "=", value: 1 } },
    { name: "users_account", on: ["account_id", "id"] },
  ],
};

export const sessions: Described<"sessions"> = {
  name: "sessions",
  columns: {
    id: text,
    user_id: idOfOwner("users"),
    token_hash: unique(text),
    address: text,
    user_agent: text,
    created_at: bigint,
    last_seen_at: bigint,
    expires_at: bigint,
  },
  key: ["id"],
  indexes: [
    { name: "sessions_user", on: ["user_id", "id"] },
    { name: "sessions_expires_at", on: ["expires_at"] },
  ],
};

export const links: Described<"links"> = {
  name: "links",
  columns: {
    id: text,
    kind: integer,
    token_hash: unique(text),
    account_id: orNull(idOf("accounts")),
    user_id: orNull(idOfOwner("users")),
    email: orNull(text),
    created_at: bigint,
    expires_at: bigint,
    used_at: orNull(bigint),
  },
  key: ["id"],
};

export const acts: Described<"acts"> = {
  name: "acts",
  columns: {
    id: text,
    created_at: bigint,
    action: text,
    actor_kind: text,
    actor_id: text,
    account_id: text,
    subject: text,
    details: text,
    refused: text,
    address: text,
  },
  key: ["id"],
  indexes: [
    { name: "acts_account", on: ["account_id", "id"] },
    { name: "acts_action", on: ["action", "id"] },
    { name: "acts_actor", on: ["actor_kind", "actor_id", "id"] },
  ],
};
