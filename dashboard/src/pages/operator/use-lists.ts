/** The operator's lists, a page after another, each as one. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import type { EntryKind } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { type ListAllRequestsRequestSchema, OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { fromTheTop, paged } from "../../parts/paged.ts";

export function useAccounts(search: string) {
  const input = { ...(search ? { search } : {}), pageToken: fromTheTop };
  return useInfiniteQuery(OperatorService.method.listAccounts, input, paged);
}

/** Keeps those whose e-mail address holds the text, or whose id or account's id it is. */
export function useUsers(search: string) {
  const input = { ...(search ? { search } : {}), pageToken: fromTheTop };
  return useInfiniteQuery(OperatorService.method.listUsers, input, paged);
}

/** Keeps entries of the kinds, or all where none is named. */
export function useEntries(account: string, kinds: EntryKind[]) {
  const input = { account, kinds, pageSize: 20, pageToken: fromTheTop };
  return useInfiniteQuery(OperatorService.method.listEntries, input, paged);
}

export function useCodes() {
  return useInfiniteQuery(OperatorService.method.listRedeemCodes, { pageSize: 200, pageToken: fromTheTop }, paged);
}

export function useActs(filter: { readonly account?: string; readonly action?: string }) {
  return useInfiniteQuery(OperatorService.method.listAudit, { ...filter, pageToken: fromTheTop }, paged);
}

type Asked = Pick<MessageInitShape<typeof ListAllRequestsRequestSchema>, "account" | "filter">;

export function useAllRequests(asked: Asked) {
  return useInfiniteQuery(OperatorService.method.listAllRequests, { ...asked, pageToken: fromTheTop }, paged);
}
