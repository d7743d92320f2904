/**
 * `model-gateway reconcile`: checks that all sums of money agree with the ledger, and that all charges are posted.
 * Exit code 1 if not.
 */
import { formatDecimal } from "../../runtime/decimal.ts";
import type { Reconciliation } from "../../storage/money/reconcile.ts";
import { withStorage } from "../command.ts";
import { readOptions } from "../line/read-options.ts";

export async function reconcile(args: readonly string[]): Promise<void> {
  const { values } = readOptions("reconcile", args);
  await withStorage(values.config, async (storage) => printProof(await storage.reconcile()));
}

/** printProof prints what holds and what does not. Exit code 1 where something does not. */
export function printProof({ accounts, keys, entries, requests, differences }: Reconciliation): void {
  const summed = `${accounts} accounts, ${keys} keys, ${entries} ledger entries, ${requests} calls`;
  for (const { what, written, derived } of differences) {
    const sums = `${formatDecimal(written)} is written, ${formatDecimal(derived)} follows`;
    console.log(`${what}: ${written === derived ? "nobody knows what that comes to" : sums}`);
  }
  if (differences.length === 0) {
    console.log(`The sums hold: ${summed}.`);
    return;
  }
  console.error(`The sums do not hold: ${differences.length} differences in ${summed}.`);
  process.exitCode = 1;
}
