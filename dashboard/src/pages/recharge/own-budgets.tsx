/** The budgets of the user's own account. */
import { createConnectQueryKey, useMutation } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { type Account, AccountService } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { BudgetsSection } from "../../budgets/budgets-section.tsx";
import { texts, useTexts } from "../../language/language.tsx";
import { notify } from "../../parts/notify.ts";

const said = texts({ done: "The budgets are changed" }, { done: "预算已更改" });

export function OwnBudgets({ account }: { readonly account: Account }) {
  const t = useTexts(said);
  const client = useQueryClient();
  const update = useMutation(AccountService.method.updateBudgets, {
    onSuccess: () => {
      notify(t.done);
      return client.invalidateQueries({
        queryKey: createConnectQueryKey({ schema: AccountService.method.getAccount, cardinality: "finite" }),
      });
    },
  });
  return (
    <BudgetsSection
      account={account}
      byOperator={false}
      busy={update.isPending}
      error={update.error}
      onSave={(change) => update.mutateAsync(change)}
      onOpen={update.reset}
    />
  );
}
