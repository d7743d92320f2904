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

/** Of a database whose clock is to be moved, too, `setClock` does that: deadlines go by it on Postgres. */
export function directMoney(storage: Pick<Storage, "openBooks">, setClock?: TestDatabase["setClock"]): DirectMoney {
  const { books, setNow } = booksOf(storage);
  const nothing = { records: [] as JournalRecord[], leases: [], captures: [], releases: [], holds: [] };
  return {
    capture: (call) =>
      andThen(
        books.decide(() => ({ ...nothing, captures: [{ call, most: call.cost }] })),
        ({ captures: [captured] }) => decided(captured),
      ),
    async captureAll(calls) {
      const { captures } = await books.decide(() => ({
        ...nothing,
        captures: calls.map((call) => ({ call, most: call.cost })),
      }));
      captures.forEach(decided);
    },
    async hold(init) {
      setNow(init.now);
      await setClock?.(init.now);
      const { holds } = await books.decide(() => ({ ...nothing, holds: [{ ...init, lease: undefined }] }));
      // No lease was asked for.
      return decided(holds[0]) as Held;
    },
    async expire(now) {
      setNow(now);
      if (!setClock) {
        while ((await books.expire()) > 0);
        return;
      }
      // By another gateway, which has lived for a while: on Postgres none expires anything before.
      const other = storage.openBooks(false)({ ...options, node: "nod_other", clock: () => now });
      for (const at of [now - 40_000, now]) {
        await setClock(at);
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
    const books = storage.openBooks(false)({ ...options, node: "nod_direct", clock: () => now });
    found = { books, setNow: (at) => (now = at) };
    opened.set(storage, found);
  }
  return found;
}

function decided<T>(decision: Decision<T> | undefined): T {
  if (decision?.kind !== "decided") throw decision?.error ?? new Error("nothing was decided");
  return decision.value;
}
