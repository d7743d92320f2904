/** The names of accounts by their ids. */
import { useQuery } from "@connectrpc/connect-query";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";

/** useAccountNames returns accounts' names by id; an id that is not among the first accounts stays. */
export function useAccountNames(isAsked: boolean): (id: string) => string {
  const accounts = useQuery(OperatorService.method.listAccounts, { pageSize: 1000 }, { enabled: isAsked });
  const names = new Map(accounts.data?.accounts.map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? id;
}
