/** The totals of the calls that the filters select, and a chart of them, grouped as the reader chooses. */
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { Alert, Group, Paper, Select, Stack, Text, Title } from "@mantine/core";
import { keepPreviousData } from "@tanstack/react-query";
import { useState } from "react";
import {
  RequestGroup,
  type SummarizeRequestsResponse,
  UsageService,
} from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { CallTotals } from "../../charts/call-totals.tsx";
import { GroupTable } from "../../charts/group-table.tsx";
import { type Buckets, chosenBuckets } from "../../charts/span.ts";
import { type Measure, splitSummary } from "../../charts/split.ts";
import { refusedGroup, withRefused } from "../../charts/split-refused.ts";
import { UsageCharts } from "../../charts/usage-charts.tsx";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { type OutcomeWord, useOutcomeNames } from "../../parts/outcome.tsx";
import { filterOf, isOutcome } from "../../parts/request-choice.ts";
import type { RequestSearch } from "../../search.ts";

const said = texts(
  {
    title: "Totals",
    week: "The last 7 days",
    chosen: "Of the dates that are chosen",
    by: "Group by",
    model: "Model",
    key: "Key",
    upstream: "Upstream",
    outcome: "Status",
    operation: "Operation",
    tag: "Tag",
    owner: "Owner",
    untagged: "Without a tag",
    nobody: "Without an owner",
    cache: "Answered from the cache",
    refused: "Refused",
    partial: (since: string) =>
      `There are more calls than are summed at once. The totals are of the calls since ${since}.`,
  },
  {
    title: "合计",
    week: "最近 7 天",
    chosen: "所选日期",
    by: "分组方式",
    model: "模型",
    key: "密钥",
    upstream: "上游",
    outcome: "状态",
    operation: "操作",
    tag: "标签",
    owner: "负责人",
    untagged: "无标签",
    nobody: "无负责人",
    cache: "缓存应答",
    refused: "被拒绝",
    partial: (since: string) => `调用数超出一次可汇总的数量，以下合计仅包含 ${since} 之后的调用。`,
  },
);

const groups = {
  model: RequestGroup.MODEL,
  key: RequestGroup.KEY,
  upstream: RequestGroup.UPSTREAM,
  outcome: RequestGroup.OUTCOME,
  operation: RequestGroup.OPERATION,
  tag: RequestGroup.TAG,
  owner: RequestGroup.OWNER,
} as const;

type By = keyof typeof groups;

const measures = ["cost", "requests", "tokens"] as const satisfies readonly Measure[];
const shownGroups = 10;
/** bucketsFor returns the buckets of what the address selects: by default those of the last seven days. */
function bucketsFor(search: RequestSearch, now: number): Buckets {
  const { from, to } = filterOf(search);
  return chosenBuckets(from && timestampMs(from as never), to && timestampMs(to as never), now);
}

interface Props {
  readonly search: RequestSearch;
  readonly keyNames: ReadonlyMap<string, string>;
}

export function UsageSummary({ search, keyNames }: Props) {
  const t = useTexts(said);
  const outcomes = useOutcomeNames();
  const [by, setBy] = useState<By>("model");
  const [now] = useState(Date.now);
  const buckets = bucketsFor(search, now);
  const { to: _, ...filter } = filterOf(search);
  const ends = filterOf(search).to;
  const asked = {
    filter: { ...filter, from: timestampFromMs(buckets.begins[0] ?? now), ...(ends ? { to: ends } : {}) },
    bucket: buckets.bucket,
    groupBy: groups[by],
  };
  const summary = useQuery(UsageService.method.summarizeRequests, asked, {
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
  });
  const { outcomes: _outcomes, upstream, ...ofRefused } = asked.filter;
  const refused = useQuery(
    UsageService.method.summarizeRefused,
    { filter: ofRefused, bucket: buckets.bucket },
    { enabled: by === "outcome" && upstream === undefined && search.outcome === undefined, refetchInterval: 30_000 },
  );
  const nameOf = (group: string) => {
    if (by === "outcome" && group === refusedGroup) return t.refused;
    if (by === "key") return keyNames.get(group) ?? group;
    if (by === "outcome" && isOutcome(group)) return outcomes[group as OutcomeWord];
    if (group !== "") return group;
    return by === "upstream" ? t.cache : by === "tag" ? t.untagged : by === "owner" ? t.nobody : group;
  };
  return (
    <Paper withBorder p="md" component="section">
      <Answer of={summary} lines={6}>
        {(asAnswered) => {
          const answer = by === "outcome" ? withRefused(asAnswered, refused.data) : asAnswered;
          return (
            <Stack gap="md">
              <Group justify="space-between" align="flex-end" gap="sm">
                <Totals of={answer} note={search.from === undefined ? t.week : t.chosen} />
                <Select
                  label={t.by}
                  data={(Object.keys(groups) as By[]).map((value) => ({ value, label: t[value] }))}
                  value={by}
                  onChange={(value) => value && setBy(value as By)}
                  allowDeselect={false}
                  w={150}
                />
              </Group>
              <UsageCharts
                of={splitSummary(answer, buckets.begins)}
                measures={measures}
                span={buckets}
                nameOf={nameOf}
              />
              {answer.groups.length > 1 && (
                <GroupTable of={answer.groups.slice(0, shownGroups)} head={t[by]} nameOf={nameOf} flush />
              )}
            </Stack>
          );
        }}
      </Answer>
    </Paper>
  );
}

function Totals({
  of: { total, completeFrom },
  note,
}: {
  readonly of: SummarizeRequestsResponse;
  readonly note: string;
}) {
  const t = useTexts(said);
  const format = useFormat();
  if (!total) return null;
  return (
    <Stack gap="xs" miw={0} flex="1 1 300px">
      <Group gap="xs" align="baseline">
        <Title order={2} size="h5">
          {t.title}
        </Title>
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      </Group>
      <CallTotals of={total} />
      {completeFrom && <Alert color="gray">{t.partial(format.moment(completeFrom))}</Alert>}
    </Stack>
  );
}
