/** The account's calls, running and ended, filtered by the address, and exported as a file. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { Button, Switch } from "@mantine/core";
import { useDocumentVisibility } from "@mantine/hooks";
import { IconActivity, IconFilterOff } from "@tabler/icons-react";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { AccountService } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { KeyService } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { RequestGroup, UsageService } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Waiting } from "../../parts/answer.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Failure } from "../../parts/failure.tsx";
import { More } from "../../parts/more.tsx";
import { Page } from "../../parts/page.tsx";
import { RefusedView, ViewSwitch } from "../../parts/refused-view.tsx";
import { RequestById } from "../../parts/request-by-id.tsx";
import { RequestFilters } from "../../parts/request-filters.tsx";
import { RequestTable } from "../../parts/request-table.tsx";
import { isFiltered, type RequestSearch } from "../../search.ts";
import { labelsAmong } from "../keys/limits/use-known-labels.ts";
import { ExportButton, ExportFailure, useExport } from "./export-button.tsx";
import { UsageSummary } from "./usage-summary.tsx";
import { ownRefused, ownSums, useRequests, useRunning } from "./use-requests.ts";

const said = texts(
  {
    title: "Usage",
    about: "Every request of your account, with what it used and cost. Prompts and answers are never kept.",
    live: "Live",
    none: "No requests yet",
    begin: "Requests by any of your keys appear here within seconds.",
    open: "Open the playground",
    noneSuch: "No requests match",
    widen: "Change the filters, or clear them to see all requests.",
    clear: "Clear filters",
  },
  {
    title: "用量",
    about: "您账户的每一次请求及其用量和费用。提问与回答的内容不会被保存。",
    live: "实时",
    none: "还没有请求",
    begin: "使用您的任一密钥发起的请求会在数秒内显示在这里。",
    open: "打开试验场",
    noneSuch: "没有匹配的请求",
    widen: "请更改筛选条件，或清除筛选以查看全部请求。",
    clear: "清除筛选",
  },
);

export function UsagePage() {
  const t = useTexts(said);
  const search = useSearch({ from: "/signed-in/usage" });
  const navigate = useNavigate();
  const isOfRefused = search.view === "refused";
  const [live, setLive] = useState(true);
  const exported = useExport(search);
  const keys = useQuery(KeyService.method.listKeys, {}).data?.keys ?? [];
  const models = useQuery(AccountService.method.listCatalog, {}).data?.models ?? [];
  const upstreams = useUpstreams();
  const keyNames = new Map(keys.map(({ id, name }) => [id, name]));
  const choose = (chosen: RequestSearch) => void navigate({ to: "/usage", search: chosen });
  return (
    <Page
      title={t.title}
      about={t.about}
      actions={
        !isOfRefused && (
          <>
            <Switch label={t.live} checked={live} onChange={(event) => setLive(event.currentTarget.checked)} mr="xs" />
            <ExportButton {...exported} />
          </>
        )
      }
    >
      <ExportFailure {...exported} />
      <RequestById to="/usage/$requestId" />
      <ViewSwitch search={search} onChange={choose} />
      <RequestFilters
        search={search}
        onChange={choose}
        keys={keys.map(({ id, name }) => ({ value: id, label: name }))}
        models={models.map(({ id }) => id)}
        upstreams={upstreams}
        tags={labelsAmong(keys).tags}
      />
      {isOfRefused ? (
        <RefusedView search={search} source={ownRefused} keyNames={keyNames} />
      ) : (
        <>
          <UsageSummary search={search} source={ownSums} keyNames={keyNames} />
          <Calls search={search} live={live} keyNames={keyNames} onClear={() => choose({})} />
        </>
      )}
    </Page>
  );
}

const monthMs = 30 * 86_400_000;

/** useUpstreams returns the upstreams that the account's calls of the last month went to. */
function useUpstreams(): readonly string[] {
  const [from] = useState(() => timestampFromMs(Date.now() - monthMs));
  const asked = { filter: { from }, groupBy: RequestGroup.UPSTREAM };
  const { data } = useQuery(UsageService.method.summarizeRequests, asked, { staleTime: Number.POSITIVE_INFINITY });
  const names = data?.groups.map(({ group }) => group) ?? [];
  return names.filter((name) => name !== "").sort();
}

interface CallsProps {
  readonly search: RequestSearch;
  readonly live: boolean;
  readonly keyNames: ReadonlyMap<string, string>;
  readonly onClear: () => void;
}

function Calls({ search, live, keyNames, onClear }: CallsProps) {
  const isWatched = useDocumentVisibility() === "visible" && live;
  const { pages, requests } = useRequests(search, isWatched);
  const underWay = useRunning(search, isWatched);
  const { error, refetch } = pages;
  if (!requests) return error ? <Failure error={error} retry={() => void refetch()} /> : <Waiting lines={8} />;
  // A call may have ended between the two answers.
  const ended = new Set(requests.map(({ id }) => id));
  const running = underWay.filter(({ id }) => !ended.has(id));
  if (requests.length + running.length === 0) return <Nothing search={search} onClear={onClear} />;
  return (
    <>
      <RequestTable {...{ requests, running, keyNames }} />
      <More of={pages} />
    </>
  );
}

function Nothing({ search, onClear }: Pick<CallsProps, "search" | "onClear">) {
  const t = useTexts(said);
  if (isFiltered(search)) {
    const action = (
      <Button variant="default" onClick={onClear}>
        {t.clear}
      </Button>
    );
    return (
      <Empty icon={IconFilterOff} title={t.noneSuch} action={action}>
        {t.widen}
      </Empty>
    );
  }
  const action = (
    <Button component={Link} to="/playground" variant="default">
      {t.open}
    </Button>
  );
  return (
    <Empty icon={IconActivity} title={t.none} action={action}>
      {t.begin}
    </Empty>
  );
}
