/** Describes answers that are kept, or will be. */
import type { Described } from "./accounts.ts";
import { bigint, bytes, idOf, integer, orNull, orZero, text } from "./shape.ts";

export const responses: Described<"responses"> = {
  name: "responses",
  columns: {
    id: text,
    account_id: idOf("accounts"),
    previous_id: orNull(text),
    created_at: bigint,
    expires_at: bigint,
    input: orNull(text),
    response: text,
  },
  key: ["id"],
  indexes: [
    { name: "responses_by_account", on: ["account_id", "expires_at", "id"] },
    { name: "responses_by_expiry", on: ["expires_at"] },
  ],
};

export const backgroundResponses: Described<"background_responses"> = {
  name: "background_responses",
  columns: {
    id: text,
    account_id: idOf("accounts"),
    node: text,
    created_at: bigint,
    expires_at: bigint,
    alive_until: bigint,
    is_cancelled: orZero(integer),
    is_over: orZero(integer),
    response: text,
  },
  key: ["id"],
  indexes: [
    { name: "background_responses_by_expiry", on: ["expires_at"] },
    { name: "background_responses_by_account", on: ["account_id", "created_at", "id"] },
    { name: "background_responses_running", on: ["node"], where: { column: "is_over", is: "=", value: 0 } },
  ],
};

export const replays: Described<"replays"> = {
  name: "replays",
  columns: {
    account_id: idOf("accounts"),
    key_hash: text,
    request_hash: text,
    request_id: text,
    node: text,
    created_at: bigint,
    expires_at: bigint,
    state: integer,
    size: integer,
    answer: orNull(bytes),
  },
  key: ["account_id", "key_hash"],
  indexes: [
    { name: "replays_created_at", on: ["created_at"] },
    { name: "replays_running", on: ["node"], where: { column: "state", is: "=", value: 0 } },
  ],
};

export const replaySizes: Described<"replay_sizes"> = {
  name: "replay_sizes",
  columns: { account_id: idOf("accounts"), size: bigint },
  key: ["account_id"],
};
