/**
 * Reserves what a call may cost, before anything is sent.
 *
 * A call whose cost cannot be known is refused to who must pay for it beforehand. Where the caller set no bound to the
 * output, it is bounded to what the remaining credit affords; a bound of the caller's own is lowered to what the model
 * can put out at most, and else never changed. A call that costs nothing reserves nothing.
 */
import type { Call } from "../../call/call.ts";
import type { Operation } from "../../call/operations.ts";
import { insufficientCredit, type Refusal } from "../../call/refusals.ts";
import type { Hold, HoldRequest, Ledger, Short } from "../../ledger/contract.ts";
import { withOutputBound } from "../../ledger/worst-case.ts";
import { formatDecimal } from "../../runtime/decimal.ts";
import { andThen, type MaybePromise, thenOrCatch } from "../../runtime/maybe-promise.ts";
import type { Model } from "../../targets/catalog.ts";
import type { Wire } from "../../wire/wire.ts";
import type { Candidate } from "../complete/candidates.ts";
import { type Asking, boundWith, estimateOf, refuseUnpriced } from "./estimate.ts";

/** Who reserves, for what, and since when: in milliseconds since 1970. */
interface Reserving {
  readonly call: Call;
  readonly asked: Operation;
  readonly arrivedAt: number;
}

/** What is asked of which model, and how its upstream calls a bound of the output. */
export type Bounding = Pick<Candidate, "model" | "operation" | "fitting">;

/** One reservation for all that a call asks of its upstreams. */
export interface Reservation {
  /**
   * Reserves at the first request to a model, in the place of what was reserved for another, and returns each request, in
   * the words of its operation, with the bound that the credit sets. Throws a Refusal, now or later, where the call may
   * not, or cannot, be paid for.
   */
  bound<W extends Wire>(lead: Bounding, request: W): MaybePromise<W>;
  isMade(): boolean;
  /** Returns what is reserved at this moment; undefined where nothing is. */
  held(): Hold | undefined;
}

export function createReservation(ledger: Ledger, reserving: Reserving): Reservation {
  const { call, asked, arrivedAt } = reserving;
  let reserved: { readonly model: Model; readonly bound: MaybePromise<Bound> } | undefined;
  let held: Hold | undefined;
  let isMade = false;
  /** Gives back what was reserved for another model, if anything was. */
  const freed = () => {
    if (!reserved) return undefined;
    const { bound } = reserved;
    const free = (): unknown => {
      const last = held;
      held = undefined;
      return last && ledger.release(last);
    };
    return thenOrCatch<Bound, unknown, unknown>(() => bound, free, free);
  };
  const hold = (wish: HoldRequest) =>
    andThen(ledger.hold(wish), (made) => {
      if (made.kind === "short") throw shortOf(wish.min, made);
      held = made;
      return made;
    });
  return {
    bound({ model, operation, fitting }, request) {
      if (asked === "count_tokens") return request;
      if (reserved?.model !== model) {
        const asking = { call, asked, model, operation, request };
        reserved = { model, bound: andThen(freed(), () => reserve(hold, asking, arrivedAt)) };
      } else refuseUnpriced(model, request);
      return andThen(reserved.bound, (bound) => {
        isMade = true;
        call.onReserved?.();
        return bound(operation, request, fitting?.outputBound ?? "max_tokens");
      });
    },
    isMade: () => isMade,
    held: () => held,
  };
}

/** Bounds what goes to the upstream. */
type Bound = <W extends Wire>(operation: Operation, request: W, chatName: string) => W;

const unbounded: Bound = (_, request) => request;

function reserve(hold: (wish: HoldRequest) => MaybePromise<Hold>, asking: Asking, now: number): MaybePromise<Bound> {
  asking.call.record.outputBound = undefined;
  const need = estimateOf(asking);
  if (!need) return unbounded;
  const { call, asked, model } = asking;
  const { max, min } = need;
  const { accountId, keyId, isLimited, asOf } = call.caller;
  const wish = {
    requestId: call.id,
    accountId,
    keyId,
    isLimited,
    asOf,
    operation: asked,
    model: model.id,
    max,
    min,
    now,
  };
  return andThen(hold(wish), ({ amount }) => {
    const tokens = boundWith(amount, need);
    call.record.outputBound = amount < max ? tokens : undefined;
    if (tokens === undefined) return unbounded;
    return (spoken, sent, chatName) => withOutputBound(spoken, sent, tokens, chatName);
  });
}

/** For credit that does not reach for the least that a call needs. */
export function shortOf(least: number, left: Omit<Short, "kind">): Refusal {
  return insufficientCredit(left.of, formatDecimal(least), formatDecimal(left.available));
}
