/**
 * Takes over the books of nodes whose processes are gone while the calls that they held for run on in another process: their journals are
 * posted at once, and what is held for those calls becomes another node's. All else that they held is released.
 */

import { holdMs } from "../../../money/books.ts";
import type { Captured } from "../../../money/contract.ts";
import { whenUnlocked } from "../../lock-retry.ts";
import type { BooksParts } from "../books/parts.ts";
import { release } from "../books/reserve.ts";
import { createPostNow } from "./recover.ts";

export interface TakeOver {
  /** Posts the journals of nodes. Returns the number of the last record that is applied of theirs, which counts as applied of `to`, too. */
  post(nodes: readonly string[], to: string): Promise<number>;
  /** Makes what nodes hold for calls that of another node, and releases what else they hold. */
  move(nodes: readonly string[], to: string, calls: readonly string[]): Promise<void>;
  /** Returns what a call was charged; undefined for one that was not captured. */
  captured(id: string): Captured | undefined;
  /** Reports whether nodes other than these have a lease of an account. */
  hasLeases(accountId: string, except: readonly string[]): boolean;
}

export interface TakeOverOptions {
  /** Names the node that takes over. */
  readonly node: string;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  readonly onError: (error: unknown) => void;
}

export function createTakeOver(parts: BooksParts, options: TakeOverOptions): TakeOver {
  const { engine, rows, statements } = parts;
  const { books } = engine;
  const postNow = createPostNow(parts, { ...options, recall: () => ({ records: [], leases: [] }) });
  const selectHeld = books.prepare<[node: string], { readonly id: string }>(
    "SELECT request_id AS id FROM holds WHERE node = ?",
  );
  const moveHolds = books.prepare<[to: string, expiresAt: number, node: string]>(
    "UPDATE holds SET node = ?, expires_at = ? WHERE node = ?",
  );
  const selectCaptured = books.prepare<[id: string], Captured>("SELECT cost, waived FROM requests WHERE id = ?");
  const selectLease = books.prepare<[accountId: string, except: string], unknown>(
    `SELECT 1 FROM holds WHERE account_id = ? AND operation = '' AND node NOT IN (SELECT value FROM json_each(?)) LIMIT 1`,
  );
  return {
    post: (nodes, to) =>
      whenUnlocked(() => {
        for (const node of nodes) postNow(node);
        return books.transact(() => {
          const posted = Math.max(0, ...nodes.map((node) => rows.find(node)?.posted ?? 0));
          if (posted > 0) rows.advance(to, posted, undefined);
          return posted;
        });
      }),
    move: (nodes, to, calls) =>
      whenUnlocked(() =>
        books.transact(() => {
          const running = new Set(calls);
          for (const node of nodes) {
            for (const { id } of selectHeld.all(node)) if (!running.has(id)) release(statements, id);
            moveHolds.run(to, options.clock() + holdMs, node);
          }
        }),
      ),
    captured: (id) => selectCaptured.get(id),
    hasLeases: (accountId, except) => selectLease.get(accountId, JSON.stringify(except)) !== undefined,
  };
}
