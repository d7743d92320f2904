/** Opens what the tests of the books need of an engine: books of several nodes on one database, a clock, and the sums. */

import type { Capture } from "../../../src/storage/columns.ts";
import {
  type Books,
  type BooksOptions,
  type CaptureEntry,
  type DecidedHold,
  type Decision,
  type Decisions,
  type Entry,
  type Granted,
  type HoldEntry,
  type Turn,
  whenKnown,
} from "../../../src/storage/money/books.ts";

export interface BooksStage {
  /** Opens the books of a node. */
  open(node: string, recall?: BooksOptions["recall"]): Promise<Books>;
  addAccount(id: string, init: { readonly balance: number; readonly isPostpaid?: boolean }): Promise<void>;
  addKey(id: string, accountId: string, limit?: number): Promise<void>;
  revoke(keyId: string): Promise<void>;
  setLimit(keyId: string, limit: number): Promise<void>;
  /** The sums of an account, with all that is written. */
  account(id: string): Promise<{ readonly balance: number; readonly held: number }>;
  key(id: string): Promise<{ readonly spent: number; readonly held: number }>;
  call(id: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  holds(): Promise<readonly { readonly id: string; readonly amount: number }[]>;
  /** The entries that were set aside, as JSON. */
  aside(): Promise<readonly string[]>;
  /** Sums that are not what they should be. */
  faults(): Promise<readonly string[]>;
  /** Moves the clock that deadlines go by. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

export const now = Date.UTC(2026, 0, 2, 3, 4, 5);

export function holdOf(requestId: string, max: number, init: Partial<DecidedHold> = {}): DecidedHold {
  const names = { accountId: "acc_1", keyId: "key_1", operation: "chat", model: "m" };
  return { requestId, ...names, max, min: max, now, lease: undefined, ...init };
}

export function callOf(id: string, cost: number, init: Partial<Capture> = {}): Capture {
  return {
    id,
    account_id: "acc_1",
    key_id: "key_1",
    created_at: now,
    operation: "chat",
    model: "m",
    upstream: "u",
    outcome: 1,
    input: 3,
    cache_read: 0,
    cache_write: 0,
    output: 4,
    reasoning: 0,
    characters: 0,
    estimated: 0,
    cost,
    duration_ms: 5,
    first_byte_ms: null,
    ...init,
  } as Capture;
}

export async function decide(books: Books, turn: Partial<Turn>): Promise<Decisions> {
  return books.decide(() => ({ records: [], leases: [], captures: [], releases: [], holds: [], ...turn }));
}

/** Returns how each hold went: its amount, `leased` by how much, or of what it is short. */
export async function hold(books: Books, ...holds: readonly DecidedHold[]): Promise<readonly (number | string)[]> {
  const decided = await decide(books, { holds });
  return Promise.all(decided.holds.map(wordOf));
}

async function wordOf(decision: Decision<Granted>): Promise<number | string> {
  const one = await whenKnown(decision);
  if (one.kind === "failed") return "failed";
  const { value } = one;
  if (value.kind === "held") return value.amount;
  return value.kind === "leased" ? `leased ${value.grown}` : `short of ${value.of}: ${value.available}`;
}

/** Has a call charged by the database. Returns what it was charged and what is waived. */
export async function capture(
  books: Books,
  call: Capture,
  most = call.cost,
): Promise<readonly [number, number] | undefined | "failed"> {
  const [one] = (await decide(books, { captures: [{ call, most }] })).captures;
  if (one?.kind !== "decided") return "failed";
  return one.value && [one.value.cost, one.value.waived];
}

/** Numbers records of one node. */
export function recordsOf(books: Books) {
  let seq = 0;
  return (...entries: readonly Entry[]) => books.write({ seq: ++seq, at: now, entries });
}

export const leaseOfAccount = (node: string) => ({ leaseId: `${node} acc_1`, isOfKey: false });
export const leaseOfKey = (node: string) => ({ leaseId: `${node} key_1`, isOfKey: true });

export function begun(requestId: string, amount: number, taken: HoldEntry["taken"]): HoldEntry {
  const names = { accountId: "acc_1", keyId: "key_1", operation: "chat", model: "m" };
  return { kind: "hold", requestId, taken, ...names, amount, createdAt: now };
}

export function ended(call: Capture, taken?: HoldEntry["taken"]): CaptureEntry {
  return { kind: "settle", call, isHeld: true, isLimited: false, taken };
}
