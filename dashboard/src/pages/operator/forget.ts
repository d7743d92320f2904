/** Invalidates the operator's queries, for one change affects several of them; and the operator's own account, which may be it. */
import { createConnectQueryKey } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { AccountService } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";

export function useForgetAnswers(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    for (const schema of [OperatorService, AccountService]) {
      await client.invalidateQueries({ queryKey: createConnectQueryKey({ schema, cardinality: undefined }) });
    }
  };
}
