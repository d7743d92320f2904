/**
 * Answers under an Idempotency-Key, kept for a day, and claims of calls that are to be answered.
 *
 * A call that runs has claimed its key, so that no other process makes it too. Its process moves the claim's deadline on; once the
 * deadline has passed, since the process died, any process may claim the key. Rows older than a day are not found, and are
 * deleted whenever a key is claimed, some at a time. Answers are stored as given: encrypted, for the request that they are for.
 */
import type { Engine } from "../engines/engine.ts";
import type { WhenFree } from "../engines/lock-retry.ts";

export interface Claim {
  readonly accountId: string;
  /** SHA-256 of the key and what it is for, in hex. */
  readonly keyHash: string;
  /** SHA-256 of the key and the request, in hex. */
  readonly requestHash: string;
  readonly requestId: string;
  /** The process that makes the call. */
  readonly node: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly expiresAt: number;
}

export type Claimed =
  | { readonly kind: "claimed" }
  /** The key was used for another request. */
  | { readonly kind: "conflict" }
  /** The call runs, in this process or another. */
  | { readonly kind: "running" }
  | { readonly kind: "answered"; readonly requestId: string; readonly answer: Buffer }
  | { readonly kind: "too_large" };

export interface ReplayStore {
  /** Claims a key, unless its call is made or was answered. */
  claim(claim: Claim): Claimed;
  /**
   * Stores the answer of the call that has claimed the key; undefined stands for one that is too long. Returns false where another
   * call has claimed the key since.
   */
  keep(claim: Claim, answer: Buffer | undefined): boolean;
  /** Ends the claim of a call that was not answered. */
  free(claim: Claim): void;
  readonly whenFree: WhenFree;
  /** Moves on the deadlines of this process's claims. */
  renew(node: string, expiresAt: number): void;
}

const keptMs = 24 * 3_600_000;

/** How many bytes of answers an account may have. An answer that does not fit counts as too long. */
const maxPerAccount = 1024 ** 3;

/** How many old rows a claim deletes, at most: each may be long. */
const batch = 5;

const [running, answered, tooLarge] = [0, 1, 2] as const;

interface Row {
  readonly account_id: string;
  readonly request_hash: string;
  readonly request_id: string;
  readonly node: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly state: number;
  readonly size: number;
  readonly answer: Buffer | null;
}

export function replayStore(engine: Engine): ReplayStore {
  const find = engine.prepare<[accountId: string, keyHash: string], Row>(
    `SELECT account_id, request_hash, request_id, node, created_at, expires_at, state, size, answer FROM replays
     WHERE account_id = ? AND key_hash = ?`,
  );
  const insert = engine.prepare<[string, string, string, string, string, now: number, expiresAt: number]>(
    `INSERT OR REPLACE INTO replays
       (account_id, key_hash, request_hash, request_id, node, created_at, expires_at, state, size)
     VALUES (?, ?, ?, ?, ?, ?, ?, ${running}, 0)`,
  );
  const forget = engine.prepare<[before: number, now: number], Pick<Row, "account_id" | "size">>(
    `DELETE FROM replays WHERE rowid IN
       (SELECT rowid FROM replays WHERE created_at <= ? AND (state <> ${running} OR expires_at <= ?)
        ORDER BY created_at LIMIT ${batch}) RETURNING account_id, size`,
  );
  const own = `account_id = ? AND key_hash = ? AND request_id = ? AND node = ? AND state = ${running}`;
  const update = engine.prepare<[number, number, Buffer | null, string, string, string, string]>(
    `UPDATE replays SET state = ?, size = ?, answer = ? WHERE ${own}`,
  );
  const remove = engine.prepare<[string, string, string, string]>(`DELETE FROM replays WHERE ${own}`);
  const sizeOf = engine.prepare<[accountId: string], { size: number }>(
    "SELECT size FROM replay_sizes WHERE account_id = ?",
  );
  const addSize = engine.prepare<[accountId: string, size: number]>(
    `INSERT INTO replay_sizes (account_id, size) VALUES (?, ?)
     ON CONFLICT (account_id) DO UPDATE SET size = size + excluded.size`,
  );
  const renew = engine.prepare<[expiresAt: number, node: string]>(
    `UPDATE replays SET expires_at = ? WHERE node = ? AND state = ${running}`,
  );
  const { whenFree } = engine.lockRetry;
  const owner = ({ accountId, keyHash, requestId, node }: Claim) => [accountId, keyHash, requestId, node] as const;
  return {
    whenFree,
    claim: (claim) =>
      engine.transact(() => {
        const { accountId, keyHash, requestHash, requestId, node, now, expiresAt } = claim;
        const row = find.get(accountId, keyHash);
        if (row && !isOver(row, claim)) return found(row, claim);
        insert.run(accountId, keyHash, requestHash, requestId, node, now, expiresAt);
        for (const gone of [...(row ? [row] : []), ...forget.all(now - keptMs, now)]) {
          if (gone.size > 0) addSize.run(gone.account_id, -gone.size);
        }
        return { kind: "claimed" };
      }),
    keep: (claim, answer) =>
      engine.transact(() => {
        const size = answer?.length ?? 0;
        const fits = answer !== undefined && (sizeOf.get(claim.accountId)?.size ?? 0) + size <= maxPerAccount;
        const [accountId, keyHash, requestId, node] = owner(claim);
        const [state, kept, bytes] = fits ? ([answered, size, answer] as const) : ([tooLarge, 0, null] as const);
        const isKept = update.run(state, kept, bytes, accountId, keyHash, requestId, node) === 1;
        if (isKept && kept > 0) addSize.run(accountId, kept);
        return isKept;
      }),
    free: (claim) => void remove.run(...owner(claim)),
    renew: (node, expiresAt) => void renew.run(expiresAt, node),
  };
}

/**
 * Reports whether the key may be claimed anew. A process knows which calls it runs: a claim of its own that is found here was left
 * behind.
 */
function isOver({ state, node, created_at, expires_at }: Row, claim: Claim): boolean {
  return state === running ? expires_at <= claim.now || node === claim.node : created_at <= claim.now - keptMs;
}

function found({ request_hash, request_id, state, answer }: Row, { requestHash }: Claim): Claimed {
  if (request_hash !== requestHash) return { kind: "conflict" };
  if (state === running) return { kind: "running" };
  return state === answered && answer ? { kind: "answered", requestId: request_id, answer } : { kind: "too_large" };
}
