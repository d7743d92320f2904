/** `model-gateway accounts create|update|list|suspend|reinstate`: manages accounts. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { type Account, EntryKind } from "../../gen/modelgateway/v1/accounts_pb.ts";
import { OperatorService } from "../../gen/modelgateway/v1/operator_pb.ts";
import type { Config } from "../config/config.ts";
import { formatDecimal } from "../runtime/decimal.ts";
import { legible } from "../runtime/words/legible.ts";
import type { Storage } from "../storage/storage.ts";
import { readAmount, readName, table } from "./command.ts";
import { readBudgetOption, writeBudgets } from "./line/budget-option.ts";
import { helpHint, UsageError, wrongAction } from "./line/errors.ts";
import { readOptions } from "./line/read-options.ts";
import { askTogether, type CallOperator, withOperator, withOperatorAndStorage } from "./operator.ts";

const { createAccount, listAccounts, recordEntry, updateAccount } = OperatorService.method;

export async function accounts([action, ...args]: readonly string[]): Promise<void> {
  switch (action) {
    case "create": {
      const { values } = readOptions("accounts create", args);
      const name = readName("--name", values.name);
      const grant = values.grant === undefined ? undefined : BigInt(readAmount("--grant", values.grant));
      const make = async (ask: CallOperator) => {
        const made = await ask(createAccount, { name, postpaid: values.postpaid ?? false });
        const account = made.account?.id ?? "";
        if (grant !== undefined) await ask(recordEntry, { account, kind: EntryKind.GRANT, amount: grant });
        return account;
      };
      const run = async (_: CallOperator, storage: Storage, config: Config) =>
        console.log(await askTogether(storage, config, make));
      return withOperatorAndStorage(values.config, run, "nothing");
    }
    case "update": {
      const { values, positionals } = readOptions("accounts update", args);
      const { "time-zone": timeZone } = values;
      const change = { ...readBudgetOption(values.budget), ...(timeZone === undefined ? {} : { timeZone }) };
      if (Object.keys(change).length === 0)
        throw new UsageError(`accounts update changes nothing without an option. ${helpHint("accounts update")}`);
      return withOperator(values.config, async (ask) => {
        const { account } = await ask(updateAccount, { account: positionals[0] as string, ...change });
        console.error(`Changed ${legible(account?.name ?? "")} (${account?.id}). It holds from the next call on.`);
      });
    }
    case "list": {
      const { values } = readOptions("accounts list", args);
      return withOperator(values.config, list);
    }
    case "suspend":
    case "reinstate": {
      const { values, positionals } = readOptions(`accounts ${action}`, args);
      const suspended = action === "suspend";
      return withOperator(values.config, async (ask) => {
        const { account } = await ask(updateAccount, { account: positionals[0] as string, suspended });
        const [did, then] = suspended
          ? ["Suspended", "refused from now on, and its users are signed out"]
          : ["Reinstated", "answered from now on; its users sign in anew"];
        console.error(`${did} ${legible(account?.name ?? "")} (${account?.id}). Its calls are ${then}.`);
      });
    }
  }
  throw wrongAction("accounts", action);
}

async function list(ask: CallOperator): Promise<void> {
  const rows: string[][] = [];
  for (let pageToken: string | undefined; ; ) {
    const page = await ask(listAccounts, { pageSize: 1000, ...(pageToken === undefined ? {} : { pageToken }) });
    rows.push(...page.accounts.map(row));
    pageToken = page.nextPageToken;
    if (pageToken === undefined) break;
  }
  console.log(table(["ID", "CREATED", "TIER", "BALANCE", "STATUS", "BUDGETS", "TIME ZONE", "NAME"], rows));
}

function row(account: Account): string[] {
  const { id, name, balance, tier, createdAt, suspendedAt, postpaid, budgets, timeZone } = account;
  const status = suspendedAt ? "suspended" : postpaid ? "postpaid" : "prepaid";
  const created = createdAt ? timestampDate(createdAt).toISOString() : "";
  return [id, created, tier?.name ?? "", formatDecimal(balance), status, writeBudgets(budgets), timeZone, name];
}
