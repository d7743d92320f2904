/** The operator's RPCs for the keys of an account: list, disable and enable, revoke. What a key may do is set by its account alone. */
import {
  DeleteAccountKeyResponseSchema,
  ListAccountKeysResponseSchema,
  type OperatorService,
  SwitchAccountKeyResponseSchema,
} from "../../../gen/modelgateway/v1/operator_pb.ts";
import type { ServiceImplementation } from "../../call/call.ts";
import { keyMessages, shownKey } from "../keys/key-message.ts";
import { known, notFound } from "../keys/keys.ts";
import { pageOf } from "../page.ts";
import { whole } from "../whole.ts";
import { findAccount } from "./operator-accounts.ts";
import type { OperatorParts } from "./parts.ts";

type Rpcs = Pick<
  ServiceImplementation<typeof OperatorService>,
  "listAccountKeys" | "switchAccountKey" | "deleteAccountKey"
>;

export function operatorKeys({ storage, clock }: Pick<OperatorParts, "storage" | "clock">): Rpcs {
  const { accounts, keys, budgets } = storage;
  return {
    async listAccountKeys({ request }) {
      const { account = "", ...page } = request.message();
      const { id } = await findAccount(accounts, account);
      const { items, next } = await pageOf(page, "key", (last = "", limit) => keys.page(id, last, limit));
      return whole(ListAccountKeysResponseSchema, { keys: await keyMessages(budgets, items, clock()), ...next });
    },
    async switchAccountKey({ request }) {
      const { account = "", id = "", disabled = false } = request.message();
      const owner = await findAccount(accounts, account);
      const updated = await keys.update(owner.id, id, { disabled: Number(disabled) });
      const key = known(updated.kind === "absent" ? undefined : updated.key, id);
      return whole(SwitchAccountKeyResponseSchema, { key: await shownKey(budgets, key, clock()) });
    },
    async deleteAccountKey({ request }) {
      const { account = "", id = "" } = request.message();
      const owner = await findAccount(accounts, account);
      if (!(await keys.revoke(id, clock(), owner.id))) throw notFound(id);
      return whole(DeleteAccountKeyResponseSchema, { id });
    },
  };
}
