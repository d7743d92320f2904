/**
 * `model-gateway recharge|refund|grant`: what came in, what was given back, and credit without money.
 *
 * The entry's id alone goes to standard output.
 */
import { EntryKind } from "../../gen/modelgateway/v1/accounts_pb.ts";
import { OperatorService } from "../../gen/modelgateway/v1/operator_pb.ts";
import { formatDecimal } from "../decimal.ts";
import { readAmount, readName, readOptions } from "./command.ts";
import { withOperator } from "./operator.ts";

export const recharge = (args: readonly string[]) => move("recharge", EntryKind.RECHARGE, args);
export const refund = (args: readonly string[]) => move("refund", EntryKind.REFUND, args);
export const grant = (args: readonly string[]) => move("grant", EntryKind.GRANT, args);

const options = {
  account: { type: "string" },
  amount: { type: "string" },
  note: { type: "string" },
  "idempotency-key": { type: "string" },
} as const;

async function move(command: string, kind: EntryKind, args: readonly string[]): Promise<void> {
  const { values } = readOptions(command, args, options);
  const account = readName("--account", values.account);
  const amount = readAmount("--amount", values.amount);
  const { config, note } = values;
  await withOperator(config, async (ask, { unit }) => {
    const init = { account, kind, amount: BigInt(amount), ...(note === undefined ? {} : { note }) };
    const answer = await ask(OperatorService.method.recordEntry, init, values["idempotency-key"]);
    const { id, name, balance = 0n, tier } = answer.account ?? {};
    // As it was asked for: the entry of a refund is negative.
    const what = `${command} of ${formatDecimal(amount)} ${unit.code} for ${name} (${id})`;
    console.error(`Recorded the ${what}. Its balance is ${formatDecimal(balance)}, its tier ${tier?.name}.`);
    console.log(answer.entry?.id);
  });
}
