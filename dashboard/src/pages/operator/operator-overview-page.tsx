/** The gateway at a glance: what all accounts spend, how calls end, and how the upstreams are. */

import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { Alert, Anchor, Button, Group, SegmentedControl, SimpleGrid, Stack, Text } from "@mantine/core";
import { useInterval } from "@mantine/hooks";
import { IconCloud, IconPlus } from "@tabler/icons-react";
import { keepPreviousData } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { OperatorService, type Upstream } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { RequestGroup, type RequestTotals } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { GroupTable } from "../../charts/group-table.tsx";
import { PartialFigures } from "../../charts/partial-figures.tsx";
import { beforeOf, bucketsOf, type SpanName, spans } from "../../charts/span.ts";
import { type Measure, splitSummary } from "../../charts/split.ts";
import { UsageCharts } from "../../charts/usage-charts.tsx";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { Section } from "../../parts/section.tsx";
import text from "../../parts/text.module.css";
import { SpanControl } from "../overview/span-control.tsx";
import { sumsOf, TotalsFigures } from "../overview/totals-figures.tsx";
import { HealthMark, OffMark } from "../upstreams/health-mark.tsx";
import { AccountLink } from "./account-link.tsx";
import { OperatorsLoss } from "./operators-loss.tsx";
import { useAccountNames } from "./use-account-names.ts";

const said = texts(
  {
    title: "Gateway overview",
    about: "All accounts together.",
    by: "Group by",
    account: "Account",
    model: "Model",
    upstream: "Upstream",
    upstreams: "Upstreams",
    upstreamsAbout: "Their health in the last 15 minutes.",
    allUpstreams: "All about the upstreams",
    noUpstreams: "No upstreams",
    first: "Where do models run?",
    firstAbout:
      "There is no upstream yet, so only the simulators answer. Add a vendor, another gateway, or a server of your own.",
    addFirst: "Add an upstream",
    name: "Name",
    cache: "Answered from the cache",
    none: "No requests in this time.",
  },
  {
    title: "网关概览",
    about: "所有账户的合计。",
    by: "分组方式",
    account: "账户",
    model: "模型",
    upstream: "上游",
    upstreams: "上游",
    upstreamsAbout: "最近 15 分钟的状况。",
    allUpstreams: "查看全部上游",
    noUpstreams: "没有上游",
    first: "模型在哪里运行？",
    firstAbout: "还没有上游，目前只有模拟器可以应答。请添加厂商、其他网关，或自建的服务器。",
    addFirst: "添加上游",
    name: "名称",
    cache: "缓存应答",
    none: "此时段内没有请求。",
  },
);

const groups = {
  account: RequestGroup.ACCOUNT,
  model: RequestGroup.MODEL,
  upstream: RequestGroup.UPSTREAM,
} as const;

type By = keyof typeof groups;

const measures = ["cost", "requests", "errors"] as const satisfies readonly Measure[];
const refreshMs = 30_000;
const often = { refetchInterval: refreshMs, placeholderData: keepPreviousData };

export function OperatorOverviewPage() {
  const t = useTexts(said);
  const [spanName, setSpanName] = useState<SpanName>("week");
  const [by, setBy] = useState<By>("account");
  const [now, setNow] = useState(Date.now);
  useInterval(() => setNow(Date.now()), refreshMs, { autoInvoke: true });
  const span = spans[spanName];
  const begins = bucketsOf(span, now);
  const earlier = beforeOf(span, begins, now);
  const past = { from: timestampFromMs(earlier.from), to: timestampFromMs(earlier.to) };
  const { summarizeAllRequests, summarizeAllRefused, listUpstreams } = OperatorService.method;
  const { bucket } = span;
  const filter = { from: timestampFromMs(begins[0] ?? now) };
  const calls = useQuery(summarizeAllRequests, { summary: { bucket, filter, groupBy: groups[by] } }, often);
  const before = useQuery(
    summarizeAllRequests,
    { summary: { bucket, filter: past } },
    { placeholderData: keepPreviousData },
  );
  const refused = useQuery(summarizeAllRefused, { summary: { bucket, filter } }, often).data?.summary;
  const upstreams = useQuery(listUpstreams, {}, { refetchInterval: 10_000 });
  const names = useAccountNames(by === "account");
  const summary = calls.data?.summary;
  return (
    <Page title={t.title} about={t.about} actions={<SpanControl value={spanName} onChange={setSpanName} />}>
      {upstreams.data && !upstreams.data.upstreams.some(({ kind }) => kind !== "embedded") && <AddFirst />}
      <OperatorsLoss />
      {summary?.completeFrom && (
        <Alert color="gray">
          <PartialFigures since={summary.completeFrom} />
        </Alert>
      )}
      <TotalsFigures
        now={sumsOf(summary?.total)}
        before={sumsOf(before.data?.summary?.total)}
        calls={summary?.total}
        callsBefore={before.data?.summary?.total}
        hasFailed={{ now: calls.isError, calls: calls.isError }}
        refused={refused && { count: refused.total, at: "/operator/requests" }}
      />
      <Answer of={upstreams} lines={4}>
        {({ upstreams }) => <Upstreams of={upstreams} />}
      </Answer>
      <Stack gap="md">
        <SegmentedControl
          aria-label={t.by}
          data={(Object.keys(groups) as By[]).map((value) => ({ value, label: t[value] }))}
          value={by}
          onChange={setBy}
          w="fit-content"
          maw="100%"
        />
        <Answer of={calls} lines={9}>
          {({ summary }) => {
            const of = splitSummary(summary ?? { sums: [], groups: [] }, begins);
            const shownName = (id: string) => (id === "" ? t.cache : (names.get(id) ?? id));
            return (
              <>
                <UsageCharts {...{ of, measures, span, nameOf: shownName }} />
                <Groups by={by} of={summary?.groups ?? []} nameOf={shownName} />
              </>
            );
          }}
        </Answer>
      </Stack>
    </Page>
  );
}

/** AddFirst leads an operator without an upstream to the first one. */
function AddFirst() {
  const t = useTexts(said);
  return (
    <Section
      title={t.first}
      about={t.firstAbout}
      actions={
        <Button component={Link} to="/operator/add-upstream" leftSection={<IconPlus size={16} aria-hidden />}>
          {t.addFirst}
        </Button>
      }
    />
  );
}

function Upstreams({ of }: { readonly of: readonly Upstream[] }) {
  const t = useTexts(said);
  const format = useFormat();
  return (
    <Section
      title={t.upstreams}
      about={t.upstreamsAbout}
      actions={
        <Anchor component={Link} to="/operator/upstreams" size="sm">
          {t.allUpstreams}
        </Anchor>
      }
    >
      {of.length === 0 ? (
        <Empty icon={IconCloud} title={t.noUpstreams} />
      ) : (
        <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }}>
          {of.map(({ name, health, disabled, firstByteP50Ms }) => (
            <Group key={name} gap="md" wrap="nowrap">
              <div style={{ minWidth: 0, flex: "0 1 128px" }}>
                <Anchor
                  component={Link}
                  to="/operator/upstreams/$upstream"
                  params={{ upstream: name } as never}
                  size="sm"
                  fw={500}
                  display="block"
                  className={text.anywhere}
                >
                  {name}
                </Anchor>
                <Text size="xs" c="dimmed">
                  {firstByteP50Ms === undefined ? "–" : format.duration(firstByteP50Ms)}
                </Text>
              </div>
              {disabled ? <OffMark /> : <HealthMark of={health} />}
            </Group>
          ))}
        </SimpleGrid>
      )}
    </Section>
  );
}

interface GroupsProps {
  readonly by: By;
  readonly of: readonly RequestTotals[];
  readonly nameOf: (id: string) => string;
}

function Groups({ by, of, nameOf }: GroupsProps) {
  const t = useTexts(said);
  if (of.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        {t.none}
      </Text>
    );
  }
  const toAccount = (id: string, name: string) => (
    <AccountLink id={id} fz="inherit">
      {name}
    </AccountLink>
  );
  return <GroupTable of={of} head={t.name} nameOf={nameOf} link={by === "account" ? toAccount : undefined} />;
}
