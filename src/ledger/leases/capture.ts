/**
 * Charges a call that has ended, and ends its hold: by the journal where the hold covers the cost, and else by asking the
 * database, which also records what is waived.
 */
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import type { CaptureEntry } from "../../storage/journal/contract.ts";
import type { Capture, Captured, Hold } from "../contract.ts";
import { retry } from "../retry.ts";
import { mayBeLimited } from "./leases.ts";
import { adjust, isAwake, type LedgerState, record, releaseLater } from "./ledger-state.ts";

export function capture(state: LedgerState, call: Capture, hold?: Hold): MaybePromise<Captured | undefined> {
  const { id, cost } = call;
  const isCapturing = state.capturing.has(id);
  // A hold stays among the holds until the database has captured its call.
  const ended = hold && !isCapturing && state.holds.delete(hold) ? hold : undefined;
  const isCovered = ended ? covers(state, ended, cost) : cost === 0 && !isCapturing;
  return isCovered ? captureByJournal(state, call, ended) : captureByDatabase(state, call, ended, hold?.amount);
}

/** Reports whether a hold covers a cost, and this process knows that the hold is still there. */
function covers(state: LedgerState, { amount, isExact }: Hold, cost: number): boolean {
  return !isExact && isAwake(state) && cost <= amount;
}

/** Charges in full. `hold` is the call's, which has been deleted; undefined for a call that costs nothing and had none. */
function captureByJournal(state: LedgerState, call: Capture, hold: Hold | undefined): MaybePromise<Captured> {
  const { id, account_id, cost } = call;
  if (hold) adjust(state, hold, cost - hold.amount);
  const taken = hold?.lease?.taken;
  const isLimited = !hold || mayBeLimited(hold.request, state.store.version());
  const entry: CaptureEntry = { kind: "settle", call, isHeld: hold !== undefined, isLimited, taken };
  const charged = () => ({ cost, waived: 0 });
  return record(state, entry, account_id).then(charged, (error: unknown) => {
    // A later append or a flush may have taken the entry along: then the call is charged.
    if (!state.journal.withdraw(entry)) return charged();
    if (hold) adjust(state, hold, -cost);
    if (hold && !taken) releaseLater(state, id, account_id);
    throw error;
  });
}

/** Has the database decide what is charged, at most `most`. */
async function captureByDatabase(
  state: LedgerState,
  call: Capture,
  hold: Hold | undefined,
  most: number | undefined,
): Promise<Captured | undefined> {
  const { store, holds, credit, capturing, groupCommit, onError } = state;
  const { id, account_id: accountId, key_id: keyId } = call;
  // What it drew from a lease becomes a hold of its own before the lease is released.
  if (hold) holds.add(hold);
  const step = {
    accountId,
    work: () => store.capture(call, most),
    after(captured: Captured | undefined) {
      if (hold) holds.delete(hold);
      credit.held(accountId, keyId, (captured?.cost ?? 0) - (hold?.amount ?? 0));
      return captured;
    },
  };
  capturing.add(id);
  try {
    return await retry(() => groupCommit.enlist(step), onError);
  } catch (error) {
    if (hold && holds.delete(hold)) releaseLater(state, id, accountId);
    throw error;
  } finally {
    capturing.delete(id);
  }
}
