/**
 * `model-gateway reconcile`: proves that all sums of money agree with the ledger and that all charges are posted. Prints what it finds,
 * with what that means and what to do. Exit code 1 on any finding, also on one that it repairs.
 */

import type { Config } from "../../config/config.ts";
import { formatDecimal } from "../../runtime/decimal.ts";
import { counted } from "../../runtime/words/counted.ts";
import { proveFile } from "../../storage/engines/sqlite/reconcile/prove-file.ts";
import type { Finding } from "../../storage/proof/finding.ts";
import { type ReconcileOptions, type Reconciliation, reconciled } from "../../storage/proof/proof.ts";
import type { Storage } from "../../storage/storage.ts";
import { databasePath, withStorage } from "../command.ts";
import { readOptions } from "../line/read-options.ts";

export async function reconcile(args: readonly string[]): Promise<void> {
  const { values } = readOptions("reconcile", args);
  const options = { isFull: values.full ?? false, isRepairing: values.repair ?? false };
  const print = values.json ? printJson : printProof;
  await withStorage(values.config, async (storage, config) => print(await proofOf(storage, config, options)));
}

/** proofOf proves a file in this thread, which has nothing else to do. Starting a thread would take a third as long as proving a small file. */
function proofOf(storage: Storage, config: Config, options: ReconcileOptions): Promise<Reconciliation> {
  return config.database ? storage.reconcile(options) : reconciled(proveFile(databasePath(config), options));
}

/** printProof prints what holds and what does not. Exit code 1 where something does not. */
export function printProof(proof: Reconciliation): void {
  const { accounts, keys, entries, requests, provedBefore, withoutPrice, findings, repaired } = proof;
  const before = provedBefore === 0 ? "" : `; ${counted(provedBefore, "call was", "calls were")} proved before`;
  const sums = [
    counted(accounts, "account"),
    counted(keys, "key"),
    counted(entries, "ledger entry"),
    counted(requests, "call"),
  ];
  const summed = `${sums.join(", ")}${before}`;
  if (withoutPrice > 0)
    console.error(`${counted(withoutPrice, "call keeps", "calls keep")} no price, and cannot be priced again.`);
  for (const finding of findings) console.log(lineOf(finding));
  for (const text of new Set(findings.map(({ means, repair }) => `\n${means}\n${repair}`))) console.log(text);
  if (findings.length === 0) {
    console.log(`The sums hold: ${summed}.`);
    return;
  }
  for (const what of repaired) console.log(`Repaired: ${what}`);
  console.error(`The sums do not hold: ${counted(findings.length, "finding")} in ${summed}.`);
  if (repaired.length > 0)
    console.error(`${counted(repaired.length, "of them is", "of them are")} repaired. Repeat it without --repair.`);
  process.exitCode = 1;
}

function lineOf({ what, written, derived }: Finding): string {
  if (written === derived) return written === 0 ? what : `${what}: ${formatDecimal(written)}`;
  return `${what}: ${formatDecimal(written)} is written, ${formatDecimal(derived)} follows`;
}

/** printJson prints one JSON object. Money in it is in millionths of the unit. */
function printJson({ findings, repaired, ...proof }: Reconciliation): void {
  const told = findings.map(({ kind, what, written, derived, means, repair, isRepairable }) => {
    const isRepaired = repaired.includes(what);
    return { kind, what, written, derived, means, repair, repairable: isRepairable, repaired: isRepaired };
  });
  const { accounts, keys, entries, requests, provedBefore, withoutPrice } = proof;
  const counts = {
    accounts,
    keys,
    entries,
    calls: requests,
    calls_proved_before: provedBefore,
    calls_without_price: withoutPrice,
  };
  console.log(JSON.stringify({ holds: findings.length === 0, ...counts, findings: told }, null, 2));
  if (findings.length > 0) process.exitCode = 1;
}
