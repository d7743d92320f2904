/** Keeps holds alive while their process lives, and expires those of processes that died. */
import { expireAll } from "../exact-ledger.ts";
import { isAwake, type LedgerState } from "./ledger-state.ts";
import { releaseLeases } from "./release.ts";

export async function sweep(state: LedgerState): Promise<void> {
  const { books, clock } = state;
  const now = clock();
  if (!isAwake(state)) await startAnew(state);
  await books.renew();
  state.renewedAt = now;
  await expireAll(books);
}

/** After this process stood still for long: its leases and holds may have expired, so the books decide from here on. */
async function startAnew(state: LedgerState): Promise<void> {
  const { leases, holds } = state;
  await releaseLeases(
    state,
    leases.giveBack(({ isGrown }) => isGrown),
  );
  for (const hold of holds.all()) hold.isExact = true;
}
