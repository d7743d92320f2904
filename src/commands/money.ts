/**
 * `model-gateway recharge|refund|grant`: records payments, refunds and grants. Only the entry's id is written to
 * standard output, also for an entry that was recorded before with the same idempotency key.
 */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { EntryKind } from "../../gen/modelgateway/v1/accounts_pb.ts";
import { OperatorService } from "../../gen/modelgateway/v1/operator_pb.ts";
import { formatAmount } from "../runtime/decimal.ts";
import { legible } from "../runtime/words/legible.ts";
import { readAmount, readName } from "./command.ts";
import { readOptions } from "./line/read-options.ts";
import { withOperator } from "./operator.ts";

export const recharge = (args: readonly string[]) => move("recharge", EntryKind.RECHARGE, args);
export const refund = (args: readonly string[]) => move("refund", EntryKind.REFUND, args);
export const grant = (args: readonly string[]) => move("grant", EntryKind.GRANT, args);

async function move(command: "recharge" | "refund" | "grant", kind: EntryKind, args: readonly string[]): Promise<void> {
  const { values } = readOptions(command, args);
  const account = readName("--account", values.account);
  const amount = readAmount("--amount", values.amount);
  const { config, note, "idempotency-key": key } = values;
  await withOperator(config, async (ask, { unit }) => {
    const init = { account, kind, amount: BigInt(amount), ...(note === undefined ? {} : { note }) };
    let isBefore = false;
    const once = { key, onReplayed: () => (isBefore = true) };
    const { entry, account: of } = await ask(OperatorService.method.recordEntry, init, once);
    // The amount as requested: the entry of a refund is negative.
    const what = `the ${command} of ${formatAmount(amount, unit)} for ${legible(of?.name ?? "")} (${of?.id})`;
    const before = entry?.createdAt ? timestampDate(entry.createdAt).toISOString() : "before";
    const did = isBefore ? `Nothing was moved: ${what} was recorded under this key at ${before}` : `Recorded ${what}`;
    console.error(`${did}. Its balance is ${formatAmount(of?.balance ?? 0n, unit)}, its tier ${of?.tier?.name}.`);
    console.log(entry?.id);
  });
}
