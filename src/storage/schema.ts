/**
 * The tables, as Kysely sees them. Times are milliseconds since 1970; booleans are 0 and 1.
 */
import type { ColumnType, Generated } from "kysely";

/** Written once, never changed. */
type Fixed<T> = ColumnType<T, T, never>;

export interface Tables {
  accounts: AccountTable;
  users: UserTable;
  api_keys: ApiKeyTable;
  responses: ResponseTable;
}

/** Who pays. */
export interface AccountTable {
  id: Fixed<string>;
  name: string;
  created_at: Fixed<number>;
}

/** Who signs in to the dashboard, for which account. */
export interface UserTable {
  id: Fixed<string>;
  account_id: Fixed<string>;
  /** In lower case; unique. */
  email: string;
  /** argon2id in the PHC string format. */
  password_hash: string;
  created_at: Fixed<number>;
}

/** What a request is authenticated by. */
export interface ApiKeyTable {
  id: Fixed<string>;
  account_id: Fixed<string>;
  name: string;
  /** SHA-256 of the secret, in hex; unique. The secret itself is nowhere. */
  secret_hash: string;
  /** First and last four characters of the secret, for lists. */
  secret_mask: string;
  is_admin: Generated<number>;
  created_at: Fixed<number>;
  revoked_at: number | null;
}

/** An answer that is kept for later requests to go on from. */
export interface ResponseTable {
  id: Fixed<string>;
  account_id: Fixed<string>;
  /** The response that it went on from. */
  previous_id: Fixed<string | null>;
  created_at: Fixed<number>;
  expires_at: number;
  /** The items that were new in its request, as JSON; null where they were too large to keep. */
  input: Fixed<string | null>;
  /** The response as it was answered, as JSON. */
  response: Fixed<string>;
}
