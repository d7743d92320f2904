/** The tables, as Kysely sees them. Times are milliseconds since 1970; booleans are 0 and 1; money is in millionths. */
import type { Generated } from "kysely";
import type { CallRow, SummedColumn } from "./columns.ts";
import type { BackgroundResponseTable, ReplaySizeTable, ReplayTable, ResponseTable } from "./schema-answers.ts";
import type { Fixed } from "./schema-fixed.ts";
import type { AuditEventTable, LinkTable, SessionTable, UserTable } from "./schema-people.ts";

export interface Tables {
  accounts: AccountTable;
  users: UserTable;
  api_keys: ApiKeyTable;
  responses: ResponseTable;
  background_responses: BackgroundResponseTable;
  replays: ReplayTable;
  replay_sizes: ReplaySizeTable;
  holds: HoldTable;
  journals: JournalTable;
  set_aside: SetAsideTable;
  ledger_entries: LedgerEntryTable;
  /** Calls that have ended. */
  requests: CallRow;
  usage_hours: UsageHourTable;
  /** The same with what is due besides: for who reads; as are keys. */
  usage_hours_now: UsageHourTable;
  due_now: UsageHourTable;
  api_keys_now: ApiKeyTable;
  redeem_codes: RedeemCodeTable;
  idempotency_keys: IdempotencyKeyTable;
  sessions: SessionTable;
  links: LinkTable;
  acts: AuditEventTable;
}

/** Who pays. */
export interface AccountTable {
  id: Fixed<string>;
  name: string;
  created_at: Fixed<number>;
  /** The sum of its ledger entries. */
  balance: Generated<number>;
  /** The sum of its holds. */
  held: Generated<number>;
  /** Recharges less refunds; the tier follows from it. */
  recharged: Generated<number>;
  /** Whether the balance may go below zero. */
  postpaid: Generated<number>;
  suspended_at: number | null;
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
  /** The sum of its charges. */
  spent: Generated<number>;
  /** The sum of its holds. */
  held: Generated<number>;
  credit_limit: number | null;
  /** Model ids and `family:name`, as a JSON list; null where it may use all. */
  models: string | null;
  disabled: Generated<number>;
  expires_at: number | null;
  last_used_at: number | null;
  /** The secret before the last rotation, and until when it is valid. */
  previous_hash: string | null;
  previous_expires_at: number | null;
}

/** What a running call has reserved; or, without an operation, what a process has for calls to come (`leases.ts`). */
export interface HoldTable {
  request_id: Fixed<string>;
  /** The process that made it, and that moves its deadline on while the call runs. */
  node: Fixed<string>;
  account_id: Fixed<string>;
  key_id: Fixed<string>;
  operation: Fixed<string>;
  model: Fixed<string>;
  amount: Fixed<number>;
  created_at: Fixed<number>;
  expires_at: number;
}

/** How far what a process has noted of calls is written where it belongs. */
export interface JournalTable {
  node: Fixed<string>;
  /** The last of its notes that is. */
  posted: number;
}

/** What was noted of calls and cannot be written. */
export interface SetAsideTable {
  node: Fixed<string>;
  /** Which of that process's notes it is; 0 for lines that cannot be read. */
  seq: Fixed<number>;
  created_at: Fixed<number>;
  /** A list of entries, or of lines that cannot be read (`journal.ts`), as JSON. */
  body: Fixed<string>;
}

/** What moved money. Rows are only ever added. */
export interface LedgerEntryTable {
  id: Fixed<string>;
  account_id: Fixed<string>;
  /** A number of the proto's EntryKind. */
  kind: Fixed<number>;
  /** How the balance changed. */
  amount: Fixed<number>;
  /** The call of a charge; unique. */
  request_id: Fixed<string | null>;
  key_id: Fixed<string | null>;
  note: Fixed<string | null>;
  created_at: Fixed<number>;
}

/** UsageHourTable is what a key used of a model from one hour to the next. */
export type UsageHourTable = {
  account_id: Fixed<string>;
  /** When the hour began. */
  hour: Fixed<number>;
  key_id: Fixed<string>;
  model: Fixed<string>;
  requests: Generated<number>;
} & { [column in SummedColumn]: Generated<number> };

/** Money on paper. */
export interface RedeemCodeTable {
  id: Fixed<string>;
  batch_id: Fixed<string>;
  /** SHA-256 of the code, in hex; unique. The code itself is nowhere. */
  code_hash: Fixed<string>;
  code_mask: Fixed<string>;
  amount: Fixed<number>;
  note: Fixed<string | null>;
  created_at: Fixed<number>;
  expires_at: Fixed<number | null>;
  claimed_at: number | null;
  claimed_by: string | null;
  revoked_at: number | null;
}

/** What was done under an Idempotency-Key, so that it is not done again. */
export interface IdempotencyKeyTable {
  /** Whose key it is, and for what. */
  scope: Fixed<string>;
  key: Fixed<string>;
  /** SHA-256 of the request, in hex. */
  fingerprint: Fixed<string>;
  /** What was made. */
  result_id: Fixed<string>;
  created_at: Fixed<number>;
}
