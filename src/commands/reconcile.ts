/** `model-gateway reconcile`: proves that the sums of money hold. Exit code 1 where one does not. */
import { formatDecimal } from "../decimal.ts";
import { readOptions, withStorage } from "./command.ts";

export async function reconcile(args: readonly string[]): Promise<void> {
  const { values } = readOptions("reconcile", args, {});
  await withStorage(values.config, async (storage) => {
    const { accounts, keys, entries, requests, differences } = await storage.reconcile();
    const summed = `${accounts} accounts, ${keys} keys, ${entries} ledger entries, ${requests} calls`;
    for (const { what, written, derived } of differences) {
      console.log(`${what}: ${formatDecimal(written)} is written, ${formatDecimal(derived)} follows`);
    }
    if (differences.length === 0) return console.log(`The sums hold: ${summed}.`);
    console.error(`The sums do not hold: ${differences.length} differences in ${summed}.`);
    process.exitCode = 1;
  });
}
