/** Money moved past any ledger, by the books of a storage: for tests that need a charge or a hold, and nothing of how it came to be. */
import { andThen, type MaybePromise } from "../../../src/runtime/maybe-promise.ts";
import type { Books, Decision, JournalRecord } from "../../../src/storage/money/books.ts";
import type { Capture, Captured, Held, HoldInit } from "../../../src/storage/money/contract.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import type { TestDatabase } from "../storage/test-database.ts";

export interface DirectMoney {
  /** Charges a call what it states, as far as that is available. */
  capture(call: Capture): MaybePromise<Captured | undefined>;
  /** The same for many calls, in one transaction. */
  captureAll(calls: readonly Capture[]): Promise<void>;
  /** Holds for a call. Its deadline is 90 seconds after `now`. */
  hold(init: Omit<HoldInit, "node" | "expiresAt">): Promise<Held>;
  /** Expires what is past its deadline at a moment. */
  expire(now: number): Promise<void>;
}

const opened = new WeakMap<object, { books: Books; setNow(now: number): void }>();

/** A node that has ended is not begun again: each has a name of its own. */
let count = 0;

/** Of a database whose clock is to be moved, too, `setClock` does that: deadlines go by it on Postgres. */
export function directMoney(storage: Pick<Storage, "openBooks">, setClock?: TestDatabase["setClock"]): DirectMoney {
  const decide: Books["decide"] = (init) => booksOf(storage).books.decide(init);
  const nothing = { records: [] as JournalRecord[], leases: [], captures: [], releases: [], holds: [] };
  return {
    capture: (call) =>
      andThen(
        decide(() => ({ ...nothing, captures: [{ call, most: call.cost }] })),
        ({ captures: [captured] }) => decided(captured),
      ),
    async captureAll(calls) {
      const { captures } = await decide(() => ({
        ...nothing,
        captures: calls.map((call) => ({ call, most: call.cost })),
      }));
      captures.forEach(decided);
    },
    async hold(init) {
      booksOf(storage).setNow(init.now);
      await setClock?.(init.now);
      const { holds } = await decide(() => ({ ...nothing, holds: [{ ...init, lease: undefined }] }));
      // No lease was asked for.
      return decided(holds[0]) as Held;
    },
    async expire(now) {
      // On SQLite a gateway keeps what it holds as long as it lives.
      await booksOf(storage).books.close();
      opened.delete(storage);
      // By another gateway, which has lived for a while: on Postgres none expires anything before.
      const other = storage.openBooks(false)({ ...options, node: "nod_other", clock: () => now });
      for (const at of [now - 40_000, now]) {
        await setClock?.(at);
        await other.renew();
      }
      while ((await other.expire()) > 0);
      await other.close();
    },
  };
}

const options = { onError: () => {}, recall: () => ({ records: [], leases: [] }) };

function booksOf(storage: Pick<Storage, "openBooks">) {
  let found = opened.get(storage);
  if (!found) {
    let now = 0;
    const node = `nod_direct_${++count}`;
    const books = storage.openBooks(false)({ ...options, node, clock: () => now });
    found = { books, setNow: (at) => (now = at) };
    opened.set(storage, found);
  }
  return found;
}

function decided<T>(decision: Decision<T> | undefined): T {
  if (decision?.kind === "failed") throw decision.error;
  if (decision?.kind !== "decided") throw new Error("nothing was decided");
  return decision.value;
}
