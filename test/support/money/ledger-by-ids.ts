/** A ledger that remembers holds by the ids of their calls, so that a test names a call and keeps nothing of it. */

import type { Capture, Hold, HoldRequest, Ledger, LedgerOptions } from "../../../src/ledger/contract.ts";
import { andThen, type MaybePromise } from "../../../src/runtime/maybe-promise.ts";
import type { Held } from "../../../src/storage/money/contract.ts";
import { accelerators } from "../accelerators.ts";

export interface LedgerByIds extends Omit<Ledger, "hold" | "release" | "capture"> {
  /** The ledger that takes holds themselves. */
  readonly inHand: Ledger;
  hold(request: HoldRequest): MaybePromise<Held>;
  release(requestId: string): Promise<void>;
  capture(call: Capture): ReturnType<Ledger["capture"]>;
}

/** `create` makes it; where it is not given, the tests' environment says how. */
export function createLedger(options: LedgerOptions, create = accelerators.createLedger): LedgerByIds {
  const ledger = create(options);
  const holds = new Map<string, Hold>();
  return {
    ...ledger,
    inHand: ledger,
    hold: (request) =>
      andThen(ledger.hold(request), (held): Held => {
        if (held.kind === "short") return held;
        holds.set(request.requestId, held);
        const { amount, budget } = held;
        return { kind: "held", amount, ...(budget ? { budget } : {}) };
      }),
    async release(requestId) {
      const held = holds.get(requestId);
      if (held) await ledger.release(held);
    },
    // Also of a call that was captured before: a repetition is safe.
    capture: (call) => ledger.capture(call, holds.get(call.id)),
  };
}
