/** Accounts and users as items, which the gateway searches for the operator. */
import { useQuery } from "@connectrpc/connect-query";
import { useDebouncedValue } from "@mantine/hooks";
import { IconBuilding, IconUser } from "@tabler/icons-react";
import { keepPreviousData } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import type { Item } from "./item.ts";
import { isSecret } from "./use-things.ts";

const pageSize = 6;

export function usePeople(query: string, operator: boolean): { accounts: readonly Item[]; users: readonly Item[] } {
  const navigate = useNavigate();
  const [searched] = useDebouncedValue(query, 200);
  const isAsked = operator && searched !== "" && searched.length <= 200 && !isSecret(searched);
  const options = { enabled: isAsked, placeholderData: keepPreviousData };
  const accounts = useQuery(OperatorService.method.listAccounts, { search: searched, pageSize }, options);
  const users = useQuery(OperatorService.method.listUsers, { search: searched, pageSize }, options);
  if (!isAsked || query === "") return { accounts: [], users: [] };
  return {
    accounts: (accounts.data?.accounts ?? []).map(({ id, name }) => ({
      ...{ id, names: [name], marks: [id], about: id, icon: IconBuilding },
      run: () => void navigate({ to: "/operator/accounts/$accountId", params: { accountId: id } }),
    })),
    users: (users.data?.users ?? []).map(({ id, email, accountName }) => ({
      ...{ id, names: [email], marks: [id], about: accountName, icon: IconUser },
      run: () => void navigate({ to: "/operator/users", search: { find: email } }),
    })),
  };
}
