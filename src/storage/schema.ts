/** The tables, as Kysely sees them. Times are milliseconds since 1970, booleans 0 and 1, money in millionths of the unit. */
import type { Generated } from "kysely";
import type { CallRow, SummedColumn } from "./columns.ts";
import type { BackgroundResponseTable, ReplaySizeTable, ReplayTable, ResponseTable } from "./schema-answers.ts";
import type { Fixed } from "./schema-fixed.ts";
import type { MovedTableTable, MoveTable } from "./schema-moves.ts";
import type { AuditEventTable, ConfigurationTable, LinkTable, SessionTable, UserTable } from "./schema-people.ts";

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
  database_identity: DatabaseIdentityTable;
  set_aside: SetAsideTable;
  ledger_entries: LedgerEntryTable;
  spent_by_quarter: SpentByQuarterTable;
  /** A view of the same with what is due, for readers. */
  spent_now: SpentByQuarterTable;
  closed_periods: ClosedPeriodTable;
  kept_from: KeptFromTable;
  /** Calls that have ended. */
  requests: CallRow;
  usage_hours: UsageHourTable;
  refused_minutes: RefusedMinuteTable;
  refused_calls: RefusedCallTable;
  /** Views of the same with pending totals, for readers; `api_keys_now` and `accounts_now` are such, too. */
  usage_hours_now: UsageHourTable;
  due_now: UsageHourTable;
  api_keys_now: ApiKeyTable;
  /** The prices that calls were charged by. */
  prices: PriceTable;
  accounts_now: AccountTable;
  redeem_codes: RedeemCodeTable;
  idempotency_keys: IdempotencyKeyTable;
  sessions: SessionTable;
  links: LinkTable;
  acts: AuditEventTable;
  configurations: ConfigurationTable;
  moves: MoveTable;
  moved_tables: MovedTableTable;
}

/** AccountTable is the accounts, which pay. */
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
  /** postpaid is whether the balance may go below zero. */
  postpaid: Generated<number>;
  /** was_postpaid is whether it ever could: what was owed then stays owed. */
  was_postpaid: Generated<number>;
  suspended_at: number | null;
  /** The IANA zone in which windows of budgets begin; null for UTC. */
  time_zone: string | null;
  /** budgets is what it may spend by windows of time (`money/budgets.ts`), as JSON; null for no budgets. */
  budgets: string | null;
}

/** ApiKeyTable is the keys by which requests are authenticated. */
export interface ApiKeyTable {
  id: Fixed<string>;
  account_id: Fixed<string>;
  name: string;
  /** SHA-256 of the secret, in hex; unique. The secret itself is not stored. */
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
  /** The models that it may use: ids and `family:name`, as a JSON list; null for all. */
  models: string | null;
  disabled: Generated<number>;
  expires_at: number | null;
  last_used_at: number | null;
  /** The secret before the last rotation, and until when it is valid. */
  previous_hash: string | null;
  previous_expires_at: number | null;
  /** As those of an account. */
  budgets: string | null;
  /** Its own limits a minute, beside those of its account's tier. */
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  /** Its limits for single models, as a JSON list of `KeyModelRate`; null for none. */
  model_rates: string | null;
  /** The most calls of models that it may have running. */
  max_concurrent: number | null;
  /** The addresses and networks that it may be used from, as a JSON list; null for all. */
  allowed_ips: string | null;
  /** Its tags, as a JSON list; null for none. */
  tags: string | null;
  /** owner is whose it is, for people to read. */
  owner: string | null;
}

/** HoldTable is what running calls hold; a row without an operation is a lease (`leases.ts`). */
export interface HoldTable {
  request_id: Fixed<string>;
  /** The process that made it, and moves its deadline on while the call runs. */
  node: Fixed<string>;
  account_id: Fixed<string>;
  key_id: Fixed<string>;
  operation: Fixed<string>;
  model: Fixed<string>;
  amount: Fixed<number>;
  created_at: Fixed<number>;
  expires_at: number;
}

/** JournalTable says how far each process's journal is posted. */
export interface JournalTable {
  node: Fixed<string>;
  /** The last record that is posted. */
  posted: number;
  /** The sum of the last line that is posted; null where an older version posted it. */
  sum: string | null;
  /** 1 from before the journal's first line until its end: its file must be there. */
  is_open: Generated<number>;
}

/** DatabaseIdentityTable has one row, which names the database. */
export interface DatabaseIdentityTable {
  id: Fixed<string>;
}

/** SetAsideTable is entries of journals that cannot be written. */
export interface SetAsideTable {
  node: Fixed<string>;
  /** The number of the record of that process; 0 for lines that older versions could not read. */
  seq: Fixed<number>;
  created_at: Fixed<number>;
  /** A list of entries, as JSON. */
  body: Fixed<string>;
}

/**
 * LedgerEntryTable is what moved money. Rows are only added, except that charges of calls that are forgotten become one of a key and
 * a month, which grows (`calls/retention.ts`).
 */
export interface LedgerEntryTable {
  id: Fixed<string>;
  account_id: Fixed<string>;
  /** A number of the proto's EntryKind. */
  kind: Fixed<number>;
  /** The change of the balance. */
  amount: number;
  /** The call of a charge; unique. */
  request_id: Fixed<string | null>;
  key_id: Fixed<string | null>;
  note: Fixed<string | null>;
  created_at: Fixed<number>;
  /** calls is how many calls it charges, where it is the charge of those of a key and a month; null for any other entry. */
  calls: number | null;
}

/**
 * SpentByQuarterTable is what accounts and keys with budgets were charged, by the quarter of an hour in which the calls came. A subject
 * has no row of before the longest window when it got its first budget.
 */
export interface SpentByQuarterTable {
  /** The id of an account or a key. */
  subject: Fixed<string>;
  /** quarter_start is when the quarter began, in UTC. */
  quarter_start: Fixed<number>;
  spent: Generated<number>;
}

/** ClosedPeriodTable is hours whose sums of usage were proved by their calls, call by call, with what they were then. */
export interface ClosedPeriodTable {
  /** hour is when the hour began. */
  hour: Fixed<number>;
  /** The sums of all accounts, keys and models in it. */
  requests: number;
  cost: number;
  /** SHA-256 of all sums of the hour, in hex. */
  hash: string;
  /** proved_at is when it was proved. */
  proved_at: number;
}

/** KeptFromTable says from when on calls are kept one by one. */
export interface KeptFromTable {
  /** `requests`. */
  kind: Fixed<string>;
  /** All calls of hours that began before are forgotten, or about to be. */
  at: number;
  /** All calls with ids before. */
  id: string;
}

/** UsageHourTable is what a key used of a model from one hour to the next. */
export type UsageHourTable = {
  account_id: Fixed<string>;
  /** hour is when the hour began. */
  hour: Fixed<number>;
  key_id: Fixed<string>;
  model: Fixed<string>;
  requests: Generated<number>;
} & { [column in SummedColumn]: Generated<number> };

/** PriceTable is the price cards that calls name. Rows are only added. */
export interface PriceTable {
  /** Follows from the card. */
  id: Fixed<string>;
  /** JSON, as `ledger/price-card.ts` writes it. */
  card: Fixed<string>;
  created_at: Fixed<number>;
}

/** RedeemCodeTable is codes that recharge the account that claims them. */
export interface RedeemCodeTable {
  id: Fixed<string>;
  batch_id: Fixed<string>;
  /** SHA-256 of the code, in hex; unique. The code itself is not stored. */
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

/** IdempotencyKeyTable is what was done under an Idempotency-Key, so that it is not done again. */
export interface IdempotencyKeyTable {
  /** The account that it is of, and the RPC that it is for. */
  scope: Fixed<string>;
  key: Fixed<string>;
  /** SHA-256 of the request, in hex. */
  fingerprint: string;
  /** The id of what was made; empty until it is, which no other transaction sees. */
  result_id: string;
  created_at: number;
}

/** RefusedMinuteTable is how many calls were refused in a minute, or in an hour, by what the other columns name. */
export interface RefusedMinuteTable {
  account_id: Fixed<string>;
  /** minute is when the minute or the hour began. */
  minute: Fixed<number>;
  key_id: Fixed<string>;
  /** The catalogue's id; empty where there is none, or the model was not known yet. */
  model: Fixed<string>;
  /** A number of the proto's Reason. */
  reason: Fixed<number>;
  /** The process that counts, which alone writes the row; empty for an hour. */
  node: Fixed<string>;
  requests: number;
}

/** RefusedCallTable is the last refused calls of each account. */
export interface RefusedCallTable {
  id: Fixed<string>;
  account_id: Fixed<string>;
  key_id: Fixed<string>;
  operation: Fixed<string>;
  /** The catalogue's id, or what the caller called the model; empty where it was not known yet. */
  model: Fixed<string>;
  /** A number of the proto's Reason. */
  reason: Fixed<number>;
  /** The HTTP status. */
  status: Fixed<number>;
  /** The error's message, or the field at fault. */
  detail: Fixed<string>;
  created_at: Fixed<number>;
}
