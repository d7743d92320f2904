/** Releases the hold of a call that was not answered, and may hold anew. */
import type { Hold } from "../contract.ts";
import { retry } from "../retry.ts";
import { adjust, type LedgerState, record, releaseLater } from "./ledger-state.ts";

export async function release(state: LedgerState, hold: Hold): Promise<void> {
  if (!state.holds.delete(hold)) return;
  if (hold.isExact) return releaseByDatabase(state, hold);
  adjust(state, hold, -hold.amount);
  const { requestId, accountId } = hold.request;
  if (!hold.lease) await record(state, { kind: "free", requestId }, accountId);
}

async function releaseByDatabase(state: LedgerState, { request, amount }: Hold): Promise<void> {
  const { store, groupCommit, credit, onError } = state;
  const { requestId, accountId, keyId } = request;
  const step = { accountId, work: () => store.release(requestId), after: () => {} };
  const released = retry(() => groupCommit.enlist(step), onError);
  released.catch(() => releaseLater(state, requestId, accountId));
  await released;
  credit.held(accountId, keyId, -amount);
}
