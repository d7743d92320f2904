/**
 * Reserves what a call may cost, before anything is sent.
 *
 * A call whose cost cannot be known is refused to who must pay for it beforehand. Where the caller set no bound to the
 * output, it is bounded to what the remaining credit affords; a bound of the caller's own is lowered to what the model
 * can put out at most, and else never changed. A call that costs nothing reserves nothing.
 */
import type { Call } from "../call.ts";
import type { Model } from "../catalog.ts";
import { formatDecimal } from "../decimal.ts";
import { insufficientCredit, type Refusal } from "../errors.ts";
import type { Held, Ledger } from "../ledger/ledger.ts";
import { withOutputBound } from "../ledger/worst-case.ts";
import type { Operation } from "../providers/operations.ts";
import type { Wire } from "../wire/wire.ts";
import { type Asking, boundWith, needOf } from "./need.ts";

/** Who reserves, for what, and since when: in milliseconds since 1970. */
interface Reserving {
  readonly call: Call;
  readonly asked: Operation;
  readonly arrivedAt: number;
}

/** One reservation for all that a call asks of its upstreams. */
export interface Reservation {
  /**
   * Reserves at the first request to a model, in the place of what was reserved for another, and returns each request, in
   * the words of its operation, with the bound that the credit sets. Throws a Refusal where the call may not, or cannot, be
   * paid for.
   */
  bound<W extends Wire>(model: Model, operation: Operation, request: W): Promise<W>;
  isMade(): boolean;
}

export function createReservation(ledger: Ledger, reserving: Reserving): Reservation {
  const { call, asked, arrivedAt } = reserving;
  let reserved: { readonly model: Model; readonly bound: Promise<Bound> } | undefined;
  let isMade = false;
  return {
    async bound(model, operation, request) {
      if (asked === "count_tokens") return request;
      if (reserved?.model !== model) {
        const free = reserved?.bound.catch(() => {}).then(() => ledger.free(call.id));
        reserved = { model, bound: reserve(ledger, { call, asked, model, operation, request }, arrivedAt, free) };
      }
      const bound = await reserved.bound;
      isMade = true;
      return bound(operation, request);
    },
    isMade: () => isMade,
  };
}

/** Bounds what goes to the upstream. */
type Bound = <W extends Wire>(operation: Operation, request: W) => W;

const unbounded: Bound = (_, request) => request;

/** `freed` is what was reserved before being given back. */
async function reserve(ledger: Ledger, asking: Asking, now: number, freed?: Promise<void>): Promise<Bound> {
  await freed;
  asking.call.facts.outputBound = undefined;
  const need = needOf(asking);
  if (!need) return unbounded;
  const { call, asked, model } = asking;
  const { wanted, least } = need;
  const held = await ledger.hold({
    requestId: call.id,
    accountId: call.caller.accountId,
    keyId: call.caller.keyId,
    isLimited: call.caller.isLimited,
    asOf: call.caller.asOf,
    operation: asked,
    model: model.id,
    ...{ wanted, least, now },
  });
  if (held.kind === "short") throw shortOf(least, held);
  const tokens = boundWith(held.amount, need, asking);
  call.facts.outputBound = held.amount < wanted ? tokens : undefined;
  if (tokens === undefined) return unbounded;
  return (spoken, sent) => withOutputBound(spoken, sent, tokens, model.vendor);
}

/** For credit that does not reach for the least that a call needs. */
export function shortOf(least: number, left: Omit<Extract<Held, { kind: "short" }>, "kind">): Refusal {
  return insufficientCredit(left.of, formatDecimal(least), formatDecimal(left.available));
}
