/** The operator's lists, page by page, each as one list. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { useInfiniteQuery, useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import type { EntryKind } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { type ListAllRequestsRequestSchema, OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { fromTheTop, paged } from "../../parts/paged.ts";
import { type RefusedSource, refusedRefreshMs } from "../../parts/refused-view.tsx";
import { momentsOf } from "../../parts/request-choice.ts";
import type { AccountSearch, AuditSearch } from "../../search.ts";
import { type SummarySource, sumsRefreshMs } from "../usage/usage-summary.tsx";
import { accountsAsked } from "./account-choice.ts";

/** useAccounts lists accounts with what they used. While another list is asked for, the one before stays. */
export function useAccounts(search: AccountSearch) {
  const input = { ...accountsAsked(search), pageToken: fromTheTop };
  return useInfiniteQuery(OperatorService.method.listAccounts, input, { ...paged, placeholderData: keepPreviousData });
}

/** useUsers lists users whose e-mail address contains the text, or with this id or account id. */
export function useUsers(search: string) {
  const input = { ...(search ? { search } : {}), pageToken: fromTheTop };
  return useInfiniteQuery(OperatorService.method.listUsers, input, paged);
}

/** useAccountKeys lists the keys of an account that are not revoked. */
export function useAccountKeys(account: string) {
  return useInfiniteQuery(
    OperatorService.method.listAccountKeys,
    { account, pageSize: 20, pageToken: fromTheTop },
    paged,
  );
}

/** useEntries lists entries of these kinds; of all kinds if none is given. */
export function useEntries(account: string, kinds: EntryKind[]) {
  const input = { account, kinds, pageSize: 20, pageToken: fromTheTop };
  return useInfiniteQuery(OperatorService.method.listEntries, input, paged);
}

export function useCodes() {
  return useInfiniteQuery(OperatorService.method.listRedeemCodes, { pageSize: 200, pageToken: fromTheTop }, paged);
}

export function useActs({ from, to, ...filter }: AuditSearch) {
  const input = { ...filter, ...momentsOf({ from, to }), pageToken: fromTheTop };
  return useInfiniteQuery(OperatorService.method.listAudit, input, paged);
}

type Asked = Pick<MessageInitShape<typeof ListAllRequestsRequestSchema>, "account" | "filter">;

export function useAllRequests(asked: Asked) {
  return useInfiniteQuery(OperatorService.method.listAllRequests, { ...asked, pageToken: fromTheTop }, paged);
}

/** allRefused asks for the refused calls of one account, or of all if it is undefined. */
export function allRefused(account: string | undefined): RefusedSource {
  const of = account === undefined ? {} : { account };
  const { summarizeAllRefused, listAllRefused } = OperatorService.method;
  return {
    useSums: (summary, enabled = true) =>
      useQuery(
        summarizeAllRefused,
        { ...of, summary },
        {
          select: (answer) => answer.summary,
          ...{ enabled, refetchInterval: refusedRefreshMs, placeholderData: keepPreviousData },
        },
      ),
    useList: (filter) => useInfiniteQuery(listAllRefused, { ...of, filter, pageToken: fromTheTop }, paged),
  };
}

/** allSums asks for the sums of the calls of one account, or of all if it is undefined. */
export function allSums(account: string | undefined): SummarySource {
  const of = account === undefined ? {} : { account };
  return {
    useSums: (summary) =>
      useQuery(
        OperatorService.method.summarizeAllRequests,
        { ...of, summary },
        {
          select: (answer) => answer.summary,
          ...{ refetchInterval: sumsRefreshMs, placeholderData: keepPreviousData },
        },
      ),
    refused: allRefused(account),
  };
}
