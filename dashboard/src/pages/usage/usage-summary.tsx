/** The totals of the calls that the filters select, and a chart of them, grouped as the reader chooses; also as a file. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { Alert, Group, Paper, Select, Stack, Text, Title } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import {
  RequestGroup,
  type SummarizeRequestsRequestSchema,
  type SummarizeRequestsResponse,
} from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { CallTotals } from "../../charts/call-totals.tsx";
import { type Buckets, chosenBuckets } from "../../charts/span.ts";
import { type Measure, splitSummary } from "../../charts/split.ts";
import { refusedGroup, withRefused } from "../../charts/split-refused.ts";
import { UsageCharts } from "../../charts/usage-charts.tsx";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { type OutcomeWord, useOutcomeNames } from "../../parts/outcome.tsx";
import type { RefusedSource } from "../../parts/refused-view.tsx";
import { filterOf, isOutcome } from "../../parts/request-choice.ts";
import type { RequestSearch } from "../../search.ts";
import { SummaryGroups } from "./summary-groups.tsx";

const said = texts(
  {
    title: "Totals",
    week: "The last 7 days",
    chosen: "Of the dates that are chosen",
    weekTo: "The 7 days up to the date that is chosen",
    by: "Group by",
    account: "Account",
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
    weekTo: "截至所选日期的 7 天",
    by: "分组方式",
    account: "账户",
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
  account: RequestGroup.ACCOUNT,
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
export const sumsRefreshMs = 30_000;

/** bucketsFor returns the buckets of what the address selects: by default those of the last seven days. */
function bucketsFor(search: RequestSearch, now: number): Buckets {
  const { from, to } = filterOf(search);
  return chosenBuckets(from && timestampMs(from), to && timestampMs(to), now);
}

type AskedSums = MessageInitShape<typeof SummarizeRequestsRequestSchema>;

/** SummarySource asks for the sums of calls: those of the account, or of any for the operator. */
export interface SummarySource {
  readonly useSums: (
    asked: AskedSums,
  ) => Pick<
    UseQueryResult<SummarizeRequestsResponse | undefined, Error>,
    "data" | "error" | "refetch" | "dataUpdatedAt" | "isPlaceholderData"
  >;
  readonly refused: RefusedSource;
}

interface Props {
  readonly search: RequestSearch;
  readonly source: SummarySource;
  readonly keyNames?: ReadonlyMap<string, string>;
  /** accountNames are accounts' names by id; set where there may be several. */
  readonly accountNames?: ReadonlyMap<string, string>;
}

export function UsageSummary({ search, source, keyNames, accountNames }: Props) {
  const t = useTexts(said);
  const [by, setBy] = useState<By>(accountNames && search.account === undefined ? "account" : "model");
  const nameOf = useGroupNames(by, keyNames, accountNames);
  const [now] = useState(Date.now);
  const buckets = bucketsFor(search, now);
  const { from: begins, to: ends, ...filter } = filterOf(search);
  // The list has the calls since the very moment, and so have the sums.
  const from = timestampFromMs(Math.max(buckets.begins[0] ?? now, begins ? timestampMs(begins) : 0));
  const chosen = { ...filter, from, ...(ends ? { to: ends } : {}) };
  const summary = source.useSums({ filter: chosen, bucket: buckets.bucket, groupBy: groups[by] });
  const { outcomes: _outcomes, upstream, tag, ...ofRefused } = chosen;
  const isWithRefused = by === "outcome" && upstream === undefined && tag === undefined && search.outcome === undefined;
  const refused = source.refused.useSums({ filter: ofRefused, bucket: buckets.bucket }, isWithRefused);
  const choices = (Object.keys(groups) as By[]).filter((one) => one !== "account" || accountNames);
  const note = begins ? t.chosen : ends ? t.weekTo : t.week;
  return (
    <Paper withBorder p="md" component="section">
      <Answer of={summary} lines={6}>
        {(asAnswered) => {
          if (!asAnswered) return null;
          const answer = isWithRefused ? withRefused(asAnswered, refused.data) : asAnswered;
          return (
            <Stack gap="md">
              <Group justify="space-between" align="flex-end" gap="sm">
                <Totals of={answer} note={note} />
                <Select
                  label={t.by}
                  data={choices.map((value) => ({ value, label: t[value] }))}
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
              {answer.groups.length > 0 && (
                <SummaryGroups
                  {...{ of: answer.groups, head: t[by], by, nameOf, from: answer.completeFrom ?? from }}
                  to={timestampFromMs(Math.min(ends ? timestampMs(ends) : Infinity, summary.dataUpdatedAt))}
                  isOfBefore={summary.isPlaceholderData}
                />
              )}
            </Stack>
          );
        }}
      </Answer>
    </Paper>
  );
}

/** useGroupNames returns what names a group. */
function useGroupNames(by: By, keyNames: Props["keyNames"], accountNames: Props["accountNames"]) {
  const t = useTexts(said);
  const outcomes = useOutcomeNames();
  return (group: string): string => {
    if (by === "outcome" && group === refusedGroup) return t.refused;
    if (by === "key") return keyNames?.get(group) ?? group;
    if (by === "account") return accountNames?.get(group) ?? group;
    if (by === "outcome" && isOutcome(group)) return outcomes[group as OutcomeWord];
    if (group !== "") return group;
    return by === "upstream" ? t.cache : by === "tag" ? t.untagged : by === "owner" ? t.nobody : group;
  };
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
