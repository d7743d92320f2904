/** Calls of all accounts, or of one. */
import { useQuery } from "@connectrpc/connect-query";
import { Stack } from "@mantine/core";
import { IconActivity } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { AccountService } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { PagedList } from "../../parts/paged-list.tsx";
import { RequestById } from "../../parts/request-by-id.tsx";
import { filterOf } from "../../parts/request-choice.ts";
import { RequestFilters } from "../../parts/request-filters.tsx";
import { RequestTable } from "../../parts/request-table.tsx";
import type { RequestSearch } from "../../search.ts";
import { AccountLink } from "./account-link.tsx";
import { useAllRequests } from "./use-lists.ts";

const said = texts(
  {
    title: "All requests",
    about: "Requests of all accounts. A key or a model is looked for within one account.",
    none: "No requests yet",
    noneHow: "Nobody has called a model yet.",
    notFound: "No requests match",
    notFoundHow: "Change the filters, or clear them.",
  },
  {
    title: "全部请求",
    about: "所有账户的请求。按密钥或模型筛选时需先指定账户。",
    none: "还没有请求",
    noneHow: "还没有人调用过模型。",
    notFound: "没有匹配的请求",
    notFoundHow: "请更改或清除筛选条件。",
  },
);

const route = getRouteApi("/signed-in/operator/requests");

export function RequestsPage() {
  const t = useTexts(said);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const catalog = useQuery(AccountService.method.listCatalog, {});
  const requests = useAllRequests(askedBy(search));
  const accountLink = useAccountLink();
  const isFiltered = Object.keys(search).length > 0;
  return (
    <Page title={t.title} about={t.about}>
      <Stack>
        <RequestById to="/operator/requests/$requestId" />
        <RequestFilters
          search={search}
          onChange={(search) => void navigate({ search, replace: true })}
          models={catalog.data?.models.map(({ id }) => id) ?? []}
          ofAccounts
        />
        <PagedList
          of={requests}
          entriesOf={(page) => page.requests}
          lines={8}
          empty={
            <Empty icon={IconActivity} title={isFiltered ? t.notFound : t.none}>
              {isFiltered ? t.notFoundHow : t.noneHow}
            </Empty>
          }
        >
          {(all) => <RequestTable requests={all} account={accountLink} page="/operator/requests/$requestId" />}
        </PagedList>
      </Stack>
    </Page>
  );
}

/** askedBy drops a key, model or upstream without an account, which the gateway refuses. */
function askedBy(search: RequestSearch) {
  const { account, key: _key, model: _model, upstream: _upstream, ...others } = search;
  const filter = filterOf(account === undefined ? others : search);
  return { ...(account === undefined ? {} : { account }), filter };
}

/** useAccountLink shows accounts' names, as far as one page of them has them. */
function useAccountLink() {
  const { data } = useQuery(OperatorService.method.listAccounts, { pageSize: 1000 });
  const names = new Map(data?.accounts.map(({ id, name }) => [id, name]));
  return (id: string) => (
    <AccountLink id={id} fz="inherit" title={id}>
      {names.get(id) ?? `…${id.slice(-6)}`}
    </AccountLink>
  );
}
