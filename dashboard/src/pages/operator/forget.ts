/** Invalidates the operator's queries: one change affects several of them. */
import { createConnectQueryKey } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";

export function useForgetAnswers(): () => Promise<void> {
  const client = useQueryClient();
  const queryKey = createConnectQueryKey({ schema: OperatorService, cardinality: undefined });
  return () => client.invalidateQueries({ queryKey });
}
