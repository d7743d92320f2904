/** The tables of people who sign in to the dashboard, and of what was done. */
import type { Generated } from "kysely";
import type { Fixed } from "./schema-fixed.ts";

/** UserTable is the people who sign in to the dashboard, and their accounts. */
export interface UserTable {
  id: Fixed<string>;
  account_id: Fixed<string>;
  /** In lower case; unique. */
  email: string;
  /** argon2id in the PHC string format. */
  password_hash: string;
  created_at: Fixed<number>;
  /** is_operator is whether the user operates the gateway. */
  is_operator: Generated<number>;
  /** The secret of the authenticator app, in base32; null where sign-in asks for no code. */
  totp_secret: string | null;
  /** A secret that no code has proved yet. */
  totp_pending: string | null;
  /** The time step of the code that was used last: no code works twice. */
  totp_step: Generated<number>;
  /** SHA-256 of the recovery codes that are not used, in hex, as a JSON list. */
  recovery_hashes: string | null;
}

/** SessionTable is the sessions of users who are signed in. */
export interface SessionTable {
  id: Fixed<string>;
  user_id: Fixed<string>;
  /** SHA-256 of the cookie's value, in hex; unique. */
  token_hash: Fixed<string>;
  address: Fixed<string>;
  user_agent: Fixed<string>;
  created_at: Fixed<number>;
  last_seen_at: number;
  expires_at: Fixed<number>;
}

/** LinkTable is one-time links. */
export interface LinkTable {
  id: Fixed<string>;
  /** A number of the proto's LinkKind. */
  kind: Fixed<number>;
  /** SHA-256 of its secret, in hex; unique. */
  token_hash: Fixed<string>;
  /** The account that it invites to. */
  account_id: Fixed<string | null>;
  /** The user whose password it sets. */
  user_id: Fixed<string | null>;
  /** The e-mail address that it invites, in lower case. */
  email: Fixed<string | null>;
  created_at: Fixed<number>;
  expires_at: Fixed<number>;
  used_at: number | null;
}

/** AuditEventTable is what was done to the gateway or an account, and by whom. Rows are only added. */
export interface AuditEventTable {
  id: Fixed<string>;
  created_at: Fixed<number>;
  /** Such as `KeyService.CreateKey`. */
  action: Fixed<string>;
  /** user, key, operator_key, command_line or nobody. */
  actor_kind: Fixed<string>;
  actor_id: Fixed<string>;
  account_id: Fixed<string>;
  subject: Fixed<string>;
  /** A JSON object. */
  details: Fixed<string>;
  /** A word of the proto's Reason for a refusal; empty for what was done. */
  refused: Fixed<string>;
  address: Fixed<string>;
}

/** ConfigurationTable is the stored documents of the configuration, each a version. Rows are only added; the highest is in force. */
export interface ConfigurationTable {
  /** Counts from 1 without a gap. */
  version: Fixed<number>;
  /** A JSON object, as `config/stored` writes it: its secrets are sealed. */
  document: Fixed<string>;
  created_at: Fixed<number>;
  /** user, operator_key or command_line. */
  actor_kind: Fixed<string>;
  /** The user's id; empty for others. */
  actor_id: Fixed<string>;
  note: Fixed<string | null>;
  /** changed is what differs from the version before, as a JSON list of texts. */
  changed: Fixed<string>;
}
