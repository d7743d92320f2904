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
import { RefusedView, ViewSwitch } from "../../parts/refused-view.tsx";
import { RequestById } from "../../parts/request-by-id.tsx";
import { filterOf } from "../../parts/request-choice.ts";
import { RequestFilters } from "../../parts/request-filters.tsx";
import { RequestTable } from "../../parts/request-table.tsx";
import { isFiltered, type RequestSearch } from "../../search.ts";
import { UsageSummary } from "../usage/usage-summary.tsx";
import { AccountLink } from "./account-link.tsx";
import { useAccountNames } from "./use-account-names.ts";
import { allRefused, allSums, useAllRequests } from "./use-lists.ts";

const said = texts(
  {
    title: "All requests",
    about: "Requests of all accounts.",
    none: "No requests yet",
    noneHow: "Nobody has called a model yet.",
    notFound: "No requests match",
    notFoundHow: "Change the filters, or clear them.",
  },
  {
    title: "全部请求",
    about: "所有账户的请求。",
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
  const upstreams = useQuery(OperatorService.method.listUpstreams, {});
  const accountNames = useAccountNames();
  const choose = (search: RequestSearch) => void navigate({ search, replace: true });
  return (
    <Page title={t.title} about={t.about}>
      <Stack>
        <RequestById to="/operator/requests/$requestId" />
        <ViewSwitch search={search} onChange={choose} />
        <RequestFilters
          search={search}
          onChange={choose}
          models={catalog.data?.models.map(({ id }) => id) ?? []}
          upstreams={upstreams.data?.upstreams.map(({ name }) => name) ?? []}
          ofAccounts
        />
        {search.view === "refused" ? (
          <RefusedOfAll search={search} accountNames={accountNames} />
        ) : (
          <>
            <UsageSummary search={search} source={allSums(search.account)} accountNames={accountNames} />
            <Requests search={search} accountNames={accountNames} />
          </>
        )}
      </Stack>
    </Page>
  );
}

interface ListProps {
  readonly search: RequestSearch;
  readonly accountNames: ReadonlyMap<string, string>;
}

function Requests({ search, accountNames }: ListProps) {
  const t = useTexts(said);
  const { account } = search;
  const requests = useAllRequests({ ...(account === undefined ? {} : { account }), filter: filterOf(search) });
  const isSome = isFiltered(search);
  return (
    <PagedList
      of={requests}
      entriesOf={(page) => page.requests}
      lines={8}
      empty={
        <Empty icon={IconActivity} title={isSome ? t.notFound : t.none}>
          {isSome ? t.notFoundHow : t.noneHow}
        </Empty>
      }
    >
      {(all) => <RequestTable requests={all} account={linkIn(accountNames)} page="/operator/requests/$requestId" />}
    </PagedList>
  );
}

/** RefusedOfAll drops a key or model without an account, which the gateway refuses. */
function RefusedOfAll({ search, accountNames }: ListProps) {
  const { key: _key, model: _model, ...others } = search;
  const { account } = search;
  return (
    <RefusedView
      search={account === undefined ? others : search}
      source={allRefused(account)}
      account={linkIn(accountNames)}
      accountNames={accountNames}
      page="/operator/requests/$requestId"
    />
  );
}

function linkIn(names: ReadonlyMap<string, string>) {
  return (id: string) => (
    <AccountLink id={id} fz="inherit" title={id}>
      {names.get(id) ?? `…${id.slice(-6)}`}
    </AccountLink>
  );
}
