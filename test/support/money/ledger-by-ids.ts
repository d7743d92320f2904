/** A ledger that remembers what calls have reserved, by their ids: a test says which call it speaks of, and has nothing in hand. */

import type { Ledger, LedgerOptions, Reserved, Settlement, Wish } from "../../../src/ledger/ledger.ts";
import { andThen, type MaybePromise } from "../../../src/runtime/maybe-promise.ts";
import type { Held } from "../../../src/storage/money/ledger.ts";
import { accelerators } from "../accelerators.ts";

export interface LedgerByIds extends Omit<Ledger, "hold" | "free" | "settle"> {
  /** What calls have that have it in hand. */
  readonly inHand: Ledger;
  hold(wish: Wish): MaybePromise<Held>;
  free(requestId: string): Promise<void>;
  settle(settlement: Settlement): ReturnType<Ledger["capture"]>;
}

/** `create` makes it; where it is not given, the tests' environment says how. */
export function createLedger(options: LedgerOptions, create = accelerators.createLedger): LedgerByIds {
  const ledger = create(options);
  const reserved = new Map<string, Reserved>();
  return {
    ...ledger,
    inHand: ledger,
    hold: (wish) =>
      andThen(ledger.hold(wish), (held): Held => {
        if (held.kind === "short") return held;
        reserved.set(wish.requestId, held);
        return { kind: "held", amount: held.amount };
      }),
    async free(requestId) {
      const held = reserved.get(requestId);
      if (held) await ledger.release(held);
    },
    // Also what is settled already: to settle again is safe.
    settle: (settlement) => ledger.capture(settlement, reserved.get(settlement.id)),
  };
}
