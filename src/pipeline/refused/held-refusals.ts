/** Holds what is to be written of refused calls, within bounds. */
import { minuteMs } from "../../runtime/time/durations.ts";
import type { RefusedBatch, RefusedCall, RefusedCount } from "../../storage/calls/refused.ts";

export interface HeldOptions {
  /** Names this process: nobody else writes counts under it. */
  readonly node: string;
  /** Returns the id of a model of the catalogue by any of its names. */
  readonly modelId: (name: string) => string | undefined;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

export interface HeldRefusals {
  add(call: RefusedCall): void;
  isEmpty(): boolean;
  /** Returns how many calls were dropped before they were counted. */
  lost(): number;
  /** Takes all that is held now. */
  take(): TakenRefusals;
}

export interface TakenRefusals {
  /** Returns the next rows to be written; undefined after the last. */
  next(): { readonly rows: RefusedBatch; written(): void } | undefined;
  /** Has what was not written be held again. */
  putBack(): void;
}

/** maxCounts is how many counts are held, by minute, key, model and reason. */
const maxCounts = 20_000;
/** maxCalls is how many calls are held one by one; maxCallsOfAccount is how many of an account. */
const [maxCalls, maxCallsOfAccount] = [5_000, 100];
/** rowsAtOnce is how many rows of each kind are written at once. */
const rowsAtOnce = 50;

/** Count is what was counted so far; `written` is as much of it as has been written. */
interface Count {
  readonly row: Omit<RefusedCount, "requests">;
  requests: number;
  written: number;
}

export function createHeldRefusals(options: HeldOptions): HeldRefusals {
  const counts = createCounts(options);
  const calls = createLastCalls();
  return {
    add(call) {
      counts.add(call);
      calls.add(call);
    },
    isEmpty: () => counts.isEmpty() && calls.isEmpty(),
    lost: counts.lost,
    take() {
      const takenCounts = counts.behind();
      const takenCalls = calls.take();
      let at = 0;
      return {
        next() {
          const some = takenCounts.slice(at, at + rowsAtOnce);
          const listed = takenCalls.slice(at, at + rowsAtOnce);
          if (some.length + listed.length === 0) return undefined;
          const rows = some.map(({ row, requests }) => ({ ...row, requests }));
          return {
            rows: { counts: rows, calls: listed },
            written() {
              for (const [i, one] of some.entries()) counts.noteWritten(one, rows[i]?.requests ?? 0);
              at += rowsAtOnce;
            },
          };
        },
        putBack() {
          for (const call of takenCalls.slice(at)) calls.add(call);
        },
      };
    },
  };
}

/** createCounts counts by minute. A count that is over and written is forgotten, and no later call belongs to its minute. */
function createCounts({ node, modelId, clock }: HeldOptions) {
  const counts = new Map<string, Count>();
  const behind = new Set<Count>();
  let minute = 0;
  let lost = 0;

  /** Never goes back: a count of a minute that is forgotten would be written in the place of the whole one. */
  function turn(): void {
    const now = clock();
    const current = now - (now % minuteMs);
    if (current <= minute) return;
    minute = current;
    for (const [name, one] of counts) if (!behind.has(one)) counts.delete(name);
  }

  /**
   * Makes room by dropping the oldest minute, unless that is this one. Many at once: a Map finds its first entry slowly after deletions.
   */
  function hasRoom(): boolean {
    if (counts.size < maxCounts) return true;
    const oldest = counts.values().next().value?.row.minute;
    if (oldest === minute) return false;
    for (const [name, one] of counts) {
      if (one.row.minute !== oldest) break;
      counts.delete(name);
      behind.delete(one);
      lost += one.requests - one.written;
    }
    return true;
  }

  return {
    isEmpty: () => behind.size === 0,
    lost: () => lost,
    behind: () => [...behind],
    add({ account_id, key_id, reason, model: named }: RefusedCall): void {
      turn();
      const model = named === "" ? "" : (modelId(named) ?? "");
      const name = `${minute} ${key_id} ${reason} ${model}`;
      let found = counts.get(name);
      if (!found) {
        if (!hasRoom()) {
          lost++;
          return;
        }
        found = { row: { account_id, minute, key_id, model, reason, node }, requests: 0, written: 0 };
        counts.set(name, found);
      }
      found.requests++;
      behind.add(found);
    },
    noteWritten(one: Count, requests: number): void {
      one.written = requests;
      if (one.requests === requests) behind.delete(one);
    },
  };
}

/** createLastCalls keeps the last calls of each account. */
function createLastCalls() {
  const calls = new Map<string, RefusedCall[]>();
  let count = 0;

  /** The accounts that have waited longest lose theirs: a tenth of all at once. */
  function dropOldest(): void {
    for (const [account, ofAccount] of calls) {
      if (count <= 0.9 * maxCalls) return;
      count -= ofAccount.length;
      calls.delete(account);
    }
  }

  return {
    isEmpty: () => count === 0,
    add(call: RefusedCall): void {
      const ofAccount = calls.get(call.account_id);
      if (ofAccount) ofAccount.push(call);
      else calls.set(call.account_id, [call]);
      count++;
      if (ofAccount && ofAccount.length > maxCallsOfAccount) {
        ofAccount.shift();
        count--;
      } else if (count > maxCalls) dropOldest();
    },
    take(): RefusedCall[] {
      const all = [...calls.values()].flat();
      calls.clear();
      count = 0;
      return all;
    },
  };
}
