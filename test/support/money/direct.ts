/** Money moved past any ledger, by the books of a storage: for tests that need a charge or a hold, and nothing of how it came to be. */
import { andThen, type MaybePromise } from "../../../src/runtime/maybe-promise.ts";
import type { Books, Decision, JournalRecord } from "../../../src/storage/money/books.ts";
import type { Capture, Captured, Held, HoldInit } from "../../../src/storage/money/contract.ts";
import type { Storage } from "../../../src/storage/storage.ts";

export interface DirectMoney {
  /** Charges a call what it states, as far as that is available. */
  capture(call: Capture): MaybePromise<Captured | undefined>;
  /** The same for many calls, in one transaction. */
  captureAll(calls: readonly Capture[]): Promise<void>;
  /** Holds for a call. Its deadline is 90 seconds after `now`. */
  hold(init: Omit<HoldInit, "node" | "expiresAt">): MaybePromise<Held>;
  /** Expires what is past its deadline at a moment. */
  expire(now: number): Promise<void>;
}

const opened = new WeakMap<object, { books: Books; setNow(now: number): void }>();

export function directMoney(storage: Pick<Storage, "openBooks">): DirectMoney {
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
    hold(init) {
      setNow(init.now);
      return andThen(
        books.decide(() => ({ ...nothing, holds: [{ ...init, lease: undefined }] })),
        ({ holds: [held] }) => decided(held) as Held,
      );
    },
    async expire(now) {
      setNow(now);
      while ((await books.expire()) > 0);
    },
  };
}

function booksOf(storage: Pick<Storage, "openBooks">) {
  let found = opened.get(storage);
  if (!found) {
    let now = 0;
    const recall = () => ({ records: [], leases: [] });
    const books = storage.openBooks(false)({ node: "nod_direct", clock: () => now, onError: () => {}, recall });
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
