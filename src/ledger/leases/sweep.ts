/** Keeps holds alive while their process lives, and expires those of processes that died. */
import { holdMs } from "../contract.ts";
import { isAwake, type LedgerState } from "./ledger-state.ts";

export async function sweep(state: LedgerState): Promise<void> {
  const { store, node, clock, groupCommit, journal } = state;
  const now = clock();
  const inTurn = <T>(work: () => T) => groupCommit.enlist({ accountId: "", work, after: (result) => result });
  if (!isAwake(state)) await store.whenFree(() => startAnew(state));
  await inTurn(() => store.renew(node, now + holdMs));
  state.renewedAt = now;
  // What those processes have journaled is paid from what they hold: so it comes first.
  const unreadable = journal.recover();
  while ((await inTurn(() => store.expire(now, unreadable))) > 0);
}

/** After this process stood still for long: its leases and holds may have expired, so the database decides from here on. */
function startAnew({ journal, holds }: LedgerState): void {
  journal.flush(() => true);
  for (const hold of holds.all()) hold.isExact = true;
}
