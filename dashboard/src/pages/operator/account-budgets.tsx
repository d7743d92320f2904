/** The budgets of an account, of which the operator sets the operator's own. */
import { useMutation } from "@connectrpc/connect-query";
import type { Account } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { BudgetsSection } from "../../budgets/budgets-section.tsx";
import { texts, useTexts } from "../../language/language.tsx";
import { notify } from "../../parts/notify.ts";
import { useForgetAnswers } from "./forget.ts";

const said = texts({ done: "The budgets are changed" }, { done: "预算已更改" });

export function AccountBudgets({ account }: { readonly account: Account }) {
  const t = useTexts(said);
  const forget = useForgetAnswers();
  const update = useMutation(OperatorService.method.updateAccount, {
    onSuccess: () => {
      notify(t.done);
      return forget();
    },
  });
  return (
    <BudgetsSection
      account={account}
      byOperator
      busy={update.isPending}
      error={update.error}
      onSave={(change) => update.mutateAsync({ account: account.id, ...change })}
      onOpen={update.reset}
    />
  );
}
