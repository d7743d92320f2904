/**
 * Charges a call that has ended, and ends its hold. A call is charged its hold at most, and what it cost beyond that is waived: so nobody
 * has to be asked where the hold is known to be there. Else the books decide; while they are away, do not answer for long, or cannot write,
 * they are told as soon as they can be: what is written for them survives this process, and counts once, whatever became of the question
 * before.
 */
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { mayPass, troubleOf } from "../../runtime/write-trouble.ts";
import type { CaptureEntry } from "../../storage/money/books.ts";
import { type Capture, type Captured, type Hold, isUnchanged } from "../contract.ts";
import { within } from "../exact-ledger.ts";
import { retry } from "../retry.ts";
import { adjust, isAwake, type LedgerState, record, releaseEntry } from "./ledger-state.ts";

export function capture(state: LedgerState, call: Capture, hold?: Hold): MaybePromise<Captured | undefined> {
  const { id, cost } = call;
  // Usually no call is being captured, and the look-up is left out.
  const isCapturing = state.capturing.size > 0 && state.capturing.has(id);
  // A hold stays among the holds until the books have captured its call.
  const ended = hold && !isCapturing && state.holds.delete(hold) ? hold : undefined;
  // This process knows that the hold is still there, or that there is nothing to charge.
  const isCertain = ended ? !ended.isExact && isAwake(state) : cost === 0 && !isCapturing;
  return isCertain ? captureByHold(state, call, ended) : captureByBooks(state, call, ended, hold?.amount);
}

/** `hold` is the call's, which has been deleted; undefined for a call that costs nothing and had none. */
function captureByHold(state: LedgerState, of: Capture, hold: Hold | undefined): MaybePromise<Captured> {
  const call = hold ? within(of, hold.amount) : of;
  const { cost, waived = 0 } = call;
  if (hold) adjust(state, hold, cost - hold.amount);
  const taken = hold?.lease?.taken;
  const isLimited = !hold || hold.request.isLimited || !isUnchanged(hold.request, state.books);
  const entry: CaptureEntry = { kind: "settle", call, isHeld: hold !== undefined, isLimited, taken };
  const charged = () => ({ cost, waived });
  return record(state, entry).then(charged, (error: unknown) => {
    // A later write may have taken the entry along: then the call is charged.
    if (!state.groupCommit.withdraw(entry)) return charged();
    if (hold) {
      adjust(state, hold, -cost);
      releaseEntry(state, hold);
    }
    throw error;
  });
}

/** captureByBooks has the books decide what is charged, at most `most`. */
async function captureByBooks(
  state: LedgerState,
  call: Capture,
  hold: Hold | undefined,
  most = call.cost,
): Promise<Captured | undefined> {
  const { holds, credit, capturing, groupCommit, onError } = state;
  const { id, account_id: accountId, key_id: keyId } = call;
  if (hold) holds.add(hold);
  const after = (captured: Captured | undefined) => {
    if (hold) holds.delete(hold);
    credit.held(accountId, keyId, (captured?.cost ?? 0) - (hold?.amount ?? 0));
    return captured;
  };
  const isAway = (error: unknown) => hold !== undefined && troubleOf(error) === "away";
  capturing.add(id);
  try {
    // A hold within budgets that covers the cost needs nothing that leases of the account have.
    const isCovered = hold?.request.budgets !== undefined && isAwake(state) && call.cost <= hold.amount;
    const item = { call, most, budgets: hold?.request.budgets, isCovered };
    const asked = { item, accountId: isCovered ? "" : accountId, after };
    return await retry(() => groupCommit.enlist("captures", asked), onError, isAway);
  } catch (error) {
    if (hold && mayPass(error) && holds.delete(hold)) return await captureByHold(state, call, hold);
    if (hold && holds.delete(hold)) releaseEntry(state, hold);
    throw error;
  } finally {
    capturing.delete(id);
  }
}
