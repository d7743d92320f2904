/**
 * `model-gateway reconcile`: checks that all sums of money agree with the ledger, and that all charges are posted.
 * Exit code 1 if not.
 */
import { formatDecimal } from "../runtime/decimal.ts";
import { withStorage } from "./command.ts";
import { readOptions } from "./line/read-options.ts";

export async function reconcile(args: readonly string[]): Promise<void> {
  const { values } = readOptions("reconcile", args);
  await withStorage(values.config, async (storage) => {
    const { accounts, keys, entries, requests, differences } = await storage.reconcile();
    const summed = `${accounts} accounts, ${keys} keys, ${entries} ledger entries, ${requests} calls`;
    for (const { what, written, derived } of differences) {
      const sums = `${formatDecimal(written)} is written, ${formatDecimal(derived)} follows`;
      console.log(`${what}: ${written === derived ? "nobody knows what that comes to" : sums}`);
    }
    if (differences.length === 0) return console.log(`The sums hold: ${summed}.`);
    console.error(`The sums do not hold: ${differences.length} differences in ${summed}.`);
    process.exitCode = 1;
  });
}
