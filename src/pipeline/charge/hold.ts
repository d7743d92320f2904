/**
 * Holds what a call may cost, before anything is sent.
 *
 * A call whose cost cannot be known is refused where its payer must cover it beforehand. Where the caller set no bound of the
 * output, the gateway sets the bound that the remaining credit affords; a caller's own bound is lowered to the most that the
 * model can generate, and otherwise never changed. A call that costs nothing holds nothing, which is written all the same: so it is known
 * as lost if the gateway dies.
 */
import { budgetExceeded, insufficientCredit, invalidApiKey, type Refusal } from "../../call/refusals.ts";
import { refuseThread } from "../../call/request/stored-thread.ts";
import type { Ledger, Short } from "../../ledger/contract.ts";
import { withOutputBound } from "../../ledger/worst-case.ts";
import { formatAmount } from "../../runtime/decimal.ts";
import { andThen, catchError, isPromise, type MaybePromise } from "../../runtime/maybe-promise.ts";
import { withDocuments } from "../../tokens/media/read-documents.ts";
import type { Wire } from "../../wire/wire.ts";
import type { ModelRates } from "../admit/model-rates.ts";
import type { Candidate } from "../complete/candidates.ts";
import type { BoundOutput, ModelCall, Unit } from "../complete/model-call.ts";
import { budgetWords } from "./budget-words.ts";
import { affordableOutput, type Estimate, estimateOf, refuseUnpriced } from "./estimate.ts";

/** HeldCandidate is what the hold reads of a candidate. */
export type HeldCandidate = Pick<Candidate, "model" | "operation" | "fitting">;

/**
 * HoldCredit makes the hold for a candidate's model, unless it is made, and returns the request with the output bound that the hold pays
 * for. A hold for another model is released first. Throws a Refusal, now or later, where the call cannot be paid for.
 */
export type HoldCredit = <W extends Wire>(
  modelCall: ModelCall,
  candidate: HeldCandidate,
  request: W,
) => MaybePromise<W>;

/**
 * createHoldCredit creates what holds the credit of calls. A request of a model is taken from its key's own rates for it before anything is
 * held, and given back where the hold is refused, or the model is not asked after it.
 */
export function createHoldCredit(ledger: Ledger, modelRates?: Pick<ModelRates, "take" | "giveBack">): HoldCredit {
  return (modelCall, candidate, request) => {
    if (modelCall.operation === "count_tokens") return request;
    const { call, hold } = modelCall;
    const { model, operation, fitting } = candidate;
    if (hold.model === model) refuseUnpriced(model, request);
    else {
      const released = hold.boundOutput && release(modelCall, ledger);
      hold.boundOutput = andThen(released, () =>
        andThen(modelRates?.take(call.caller, model), (nearest) => {
          hold.nearest = nearest;
          return catchError(
            () => makeHold(modelCall, candidate, request, ledger),
            (error): never => {
              modelRates?.giveBack(call.caller, model);
              throw error;
            },
          );
        }),
      );
      hold.model = model;
    }
    return andThen(hold.boundOutput as MaybePromise<BoundOutput>, (boundOutput) => {
      hold.isMade = true;
      const reserved =
        call.onReserved &&
        catchError(call.onReserved, (error): never => {
          modelRates?.giveBack(call.caller, model);
          throw error;
        });
      return andThen(reserved, () => boundOutput(operation, request, fitting?.outputBound ?? "max_tokens"));
    });
  };
}

/** release releases what is held for another model, once that hold is made. */
async function release({ hold }: ModelCall, ledger: Ledger): Promise<void> {
  // A hold that could not be made holds nothing, and was reported to the attempt that asked for it.
  if (isPromise(hold.boundOutput)) await hold.boundOutput.then(null, () => {});
  const { held } = hold;
  hold.held = undefined;
  if (held) await ledger.release(held);
}

function makeHold(
  modelCall: ModelCall,
  candidate: HeldCandidate,
  request: Wire,
  ledger: Ledger,
): MaybePromise<BoundOutput> {
  const { call } = modelCall;
  call.record.outputBound = undefined;
  return andThen(
    withDocuments(call.request, () => estimateOf(modelCall, candidate, request), call.signal),
    (estimate) => holdEstimate(modelCall, candidate, estimate, ledger),
  );
}

function holdEstimate(
  modelCall: ModelCall,
  candidate: HeldCandidate,
  estimate: Estimate | undefined,
  ledger: Ledger,
): MaybePromise<BoundOutput> {
  const { call, settings } = modelCall;
  return andThen(ledger.hold(holdRequestOf(modelCall, candidate, estimate ?? free)), (made) => {
    if (made.kind === "short") {
      // The whole conversation, which its client sends then, may need less than all that a model's context holds. A revoked key needs another.
      if (made.of !== "key") refuseThread(call.request.outline());
      throw shortOf(estimate?.min ?? 0, made, settings.unit, modelCall.arrivedAt);
    }
    modelCall.hold.held = made;
    if (!estimate) return unbounded;
    const tokens = affordableOutput(made.amount, estimate);
    call.record.outputBound = made.amount < estimate.max ? tokens : undefined;
    if (tokens === undefined) return unbounded;
    return (operation, sent, boundName) => withOutputBound(operation, sent, tokens, boundName);
  });
}

/** free is what is asked for a call that costs nothing. */
const free = { max: 0, min: 0 };

const unbounded: BoundOutput = (_, request) => request;

function holdRequestOf(
  { call, operation, arrivedAt }: ModelCall,
  { model }: HeldCandidate,
  { max, min }: Pick<Estimate, "max" | "min">,
) {
  const { accountId, keyId, isLimited, asOf, budgets } = call.caller;
  return {
    requestId: call.id,
    accountId,
    keyId,
    isLimited,
    asOf,
    budgets,
    operation,
    model: model.id,
    max,
    min,
    now: arrivedAt,
  };
}

/**
 * shortOf returns the refusal for credit, or a budget, below the least that a call needs, or for a key that was revoked since the call was
 * admitted. `now` is in milliseconds since 1970.
 */
export function shortOf(min: number, short: Omit<Short, "kind">, unit: Unit, now: number): Refusal {
  const { of, budget } = short;
  if (of === "key") return invalidApiKey();
  const needed = formatAmount(min, unit);
  if (budget) return budgetExceeded(needed, budgetWords(budget, unit, now));
  return insufficientCredit(of === "limit" ? "limit" : "balance", needed, formatAmount(short.available, unit));
}
