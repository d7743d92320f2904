/**
 * useRequests lists the account's calls, newest first, page by page; while `live`, new ones appear by themselves.
 *
 * Only the newest page is refreshed. If more calls have arrived than it holds, the pages below it are read again, so
 * that no call is missing in between.
 */
import { useInfiniteQuery, useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useEffect } from "react";
import { type Request, UsageService } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { fromTheTop, paged } from "../../parts/paged.ts";
import { type RefusedSource, refusedRefreshMs } from "../../parts/refused-view.tsx";
import { filterOf } from "../../parts/request-choice.ts";
import type { RequestSearch } from "../../search.ts";
import { type SummarySource, sumsRefreshMs } from "./usage-summary.tsx";

const liveMs = 2000;
const pageSize = 50;

export function useRequests(search: RequestSearch, live: boolean) {
  const asked = { filter: filterOf(search), pageSize };
  const pages = useInfiniteQuery(UsageService.method.listRequests, { ...asked, pageToken: fromTheTop }, paged);
  const isRead = pages.data !== undefined;
  const newest = useQuery(UsageService.method.listRequests, asked, {
    enabled: live && isRead,
    refetchInterval: liveMs,
  });
  const below = pages.data?.pages.flatMap(({ requests }) => requests);
  const above = newest.data?.requests ?? [];
  const { refetch } = pages;
  const isApart = live && below !== undefined && !meets(above, below);
  useEffect(() => {
    if (isApart) void refetch();
  }, [isApart, refetch]);
  return { pages, requests: below && joined(above, below) };
}

/** meets returns whether two pages overlap or are adjacent. Ids sort by time. */
function meets(above: readonly Request[], below: readonly Request[]): boolean {
  const [first, last] = [below[0], above.at(-1)];
  return above.length < pageSize || (first !== undefined && last !== undefined && last.id <= first.id);
}

function joined(above: readonly Request[], below: readonly Request[]): readonly Request[] {
  const newest = below[0]?.id ?? "";
  return [...above.filter(({ id }) => id > newest), ...below];
}

/**
 * useRunning returns the running calls that match the address; none if it filters by outcome, which they do not have
 * yet.
 */
export function useRunning(search: RequestSearch, live: boolean) {
  const { data } = useQuery(UsageService.method.listRunning, {}, { enabled: live, refetchInterval: liveMs });
  const { keyId, model, outcomes, from, to } = filterOf(search);
  if (!live || outcomes) return [];
  return (data?.running ?? []).filter((call) => {
    const second = call.createdAt?.seconds ?? 0n;
    const isOfKey = keyId === undefined || call.keyId === keyId;
    const isOfModel = model === undefined || call.model === model;
    return isOfKey && isOfModel && second >= (from?.seconds ?? 0n) && (to === undefined || second < (to.seconds ?? 0n));
  });
}

/** ownRefused asks for the account's refused calls. */
export const ownRefused: RefusedSource = {
  useSums: (asked, enabled = true) =>
    useQuery(UsageService.method.summarizeRefused, asked, {
      ...{ enabled, refetchInterval: refusedRefreshMs, placeholderData: keepPreviousData },
    }),
  useList: (filter) =>
    useInfiniteQuery(UsageService.method.listRefused, { filter, pageSize, pageToken: fromTheTop }, paged),
};

/** ownSums asks for the sums of the account's calls. */
export const ownSums: SummarySource = {
  useSums: (asked) =>
    useQuery(UsageService.method.summarizeRequests, asked, {
      ...{ refetchInterval: sumsRefreshMs, placeholderData: keepPreviousData },
    }),
  refused: ownRefused,
};
