/** The names of accounts by their ids. */
import { useQuery } from "@connectrpc/connect-query";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";

/** useAccountNames returns accounts' names by id, as far as one page of them has them. They are asked for where `isAsked` is set. */
export function useAccountNames(isAsked = true): ReadonlyMap<string, string> {
  const { data } = useQuery(OperatorService.method.listAccounts, { pageSize: 1000 }, { enabled: isAsked });
  return new Map(data?.accounts.map(({ id, name }) => [id, name]));
}
