/** Refused calls: how many there were, by what the reader chooses, and the last of them one by one. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { Group, Paper, SegmentedControl, Select, Stack, Text, Title } from "@mantine/core";
import { useInterval } from "@mantine/hooks";
import { IconCircleCheck } from "@tabler/icons-react";
import type { InfiniteData, UseInfiniteQueryResult, UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import {
  Bucket,
  type ListRefusedResponse,
  type RefusedFilterSchema,
  RefusedGroup,
  type SummarizeRefusedRequestSchema,
  type SummarizeRefusedResponse,
} from "../../../gen/modelgateway/v1/usage_pb.ts";
import { type Buckets, bucketsOf, chosenBuckets, minutesOfHour } from "../charts/span.ts";
import { splitRefused } from "../charts/split-refused.ts";
import { ChartLegend, UsageChart } from "../charts/usage-chart.tsx";
import { texts, useTexts } from "../language/language.tsx";
import type { RequestSearch } from "../search.ts";
import { Answer } from "./answer.tsx";
import { Empty } from "./empty.tsx";
import { PagedList } from "./paged-list.tsx";
import { useReasonNames } from "./refusal-reasons.ts";
import { RefusedTable } from "./refused-table.tsx";
import { filterOf } from "./request-choice.ts";
import type { RequestNames } from "./request-columns.tsx";

const said = texts(
  {
    title: "Refused",
    week: "The last 7 days",
    chosen: "The chosen dates",
    weekTo: "7 days up to the date",
    hour: "The last hour",
    when: "Time",
    by: "Group by",
    reason: "Reason",
    model: "Model",
    key: "Key",
    account: "Account",
    noModel: "Model not known",
    about: "Requests that were refused before a model was asked. They cost nothing, and are not among the others.",
    none: "No refused requests",
    noneHow: "Requests that exceed a limit, name a model that there is not, or are not valid are counted here.",
  },
  {
    title: "被拒绝",
    week: "最近 7 天",
    chosen: "所选日期",
    weekTo: "截至该日期的 7 天",
    hour: "最近一小时",
    when: "时间",
    by: "分组方式",
    reason: "原因",
    model: "模型",
    key: "密钥",
    account: "账户",
    noModel: "模型未知",
    about: "在调用模型之前被拒绝的请求。它们不收费，也不计入其他请求。",
    none: "没有被拒绝的请求",
    noneHow: "超出限制、指定了不存在的模型或内容无效的请求会在此计数。",
  },
);

const groups = {
  reason: RefusedGroup.REASON,
  model: RefusedGroup.MODEL,
  key: RefusedGroup.KEY,
  account: RefusedGroup.ACCOUNT,
} as const;

type By = keyof typeof groups;
type Filter = MessageInitShape<typeof RefusedFilterSchema>;
type AskedSums = MessageInitShape<typeof SummarizeRefusedRequestSchema>;

/** RefusedSource asks for refused calls: those of the account, or of any for the operator. */
export interface RefusedSource {
  /** useSums asks where `isAsked` is set, which is the default. */
  readonly useSums: (asked: AskedSums, isAsked?: boolean) => Asked<SummarizeRefusedResponse>;
  readonly useList: (filter: Filter) => UseInfiniteQueryResult<InfiniteData<Page>, Error>;
}

type Asked<T> = Pick<UseQueryResult<T | undefined, Error>, "data" | "error" | "refetch">;
type Page = Pick<ListRefusedResponse, "refused" | "nextPageToken">;

interface Props extends RequestNames {
  readonly search: RequestSearch;
  readonly source: RefusedSource;
  /** accountNames are accounts' names by id; set where there may be several. */
  readonly accountNames?: ReadonlyMap<string, string> | undefined;
}

export const refusedRefreshMs = 10_000;

/** refusedFilterOf returns the filter of an address; what refused calls do not have is left out. */
function refusedFilterOf(search: RequestSearch) {
  const { keyId, model, from, to } = filterOf(search);
  return {
    ...(keyId === undefined ? {} : { keyId }),
    ...(model === undefined ? {} : { model }),
    ...(search.reason === undefined ? {} : { reasons: [search.reason] }),
    ...(from ? { from } : {}),
    ...(to ? { to } : {}),
  };
}

export function RefusedView({ search, source, accountNames, ...names }: Props) {
  const t = useTexts(said);
  const list = source.useList(refusedFilterOf(search));
  return (
    <Stack>
      <Counts {...{ search, source, accountNames, keyNames: names.keyNames }} />
      <PagedList
        of={list}
        entriesOf={({ refused }) => refused}
        lines={8}
        empty={
          <Empty icon={IconCircleCheck} title={t.none}>
            {t.noneHow}
          </Empty>
        }
      >
        {(refused) => <RefusedTable refused={refused} {...names} />}
      </PagedList>
    </Stack>
  );
}

type CountsProps = Pick<Props, "search" | "source" | "accountNames" | "keyNames">;

function Counts({ search, source, accountNames, keyNames }: CountsProps) {
  const t = useTexts(said);
  const nameOf = useGroupNames(keyNames, accountNames);
  const [by, setBy] = useState<By>("reason");
  const [isHour, setHour] = useState(false);
  const buckets = useBuckets(search, isHour);
  const { from, to, ...filter } = refusedFilterOf(search);
  const begins = Math.max(buckets.begins[0] ?? 0, from && !isHour ? timestampMs(from) : 0);
  const times = { from: timestampFromMs(begins), ...(to && !isHour ? { to } : {}) };
  const sums = source.useSums({ filter: { ...filter, ...times }, bucket: buckets.bucket, groupBy: groups[by] });
  const choices = (Object.keys(groups) as By[]).filter((one) => one !== "account" || accountNames);
  return (
    <Paper withBorder p="md" component="section">
      <Stack gap="md">
        <Group justify="space-between" align="flex-end" gap="sm">
          <Stack gap={4} miw={0} flex="1 1 260px">
            <Title order={2} size="h5">
              {t.title}
            </Title>
            <Text size="xs" c="dimmed">
              {t.about}
            </Text>
          </Stack>
          <SegmentedControl
            aria-label={t.when}
            value={isHour ? "hour" : "dates"}
            onChange={(value) => setHour(value === "hour")}
            data={[
              { value: "hour", label: t.hour },
              { value: "dates", label: from ? t.chosen : to ? t.weekTo : t.week },
            ]}
            maw="100%"
          />
          <Select
            label={t.by}
            data={choices.map((value) => ({ value, label: t[value] }))}
            value={by}
            onChange={(value) => value && setBy(value as By)}
            allowDeselect={false}
            w={150}
          />
        </Group>
        <Answer of={sums} lines={6}>
          {(answer) => {
            const of = splitRefused(answer ?? { sums: [] }, buckets.begins);
            return (
              <Stack gap="sm">
                <UsageChart title={t.title} measure="requests" of={of} span={buckets} nameOf={nameOf(by)} />
                <ChartLegend of={of} nameOf={nameOf(by)} />
              </Stack>
            );
          }}
        </Answer>
      </Stack>
    </Paper>
  );
}

/** useBuckets returns the minutes of the last hour, or the buckets of the chosen dates. */
function useBuckets(search: RequestSearch, isHour: boolean): Buckets {
  const [now, setNow] = useState(Date.now);
  useInterval(() => setNow(Date.now()), refusedRefreshMs, { autoInvoke: true });
  if (isHour) return { bucket: Bucket.MINUTE, begins: bucketsOf(minutesOfHour, now) };
  const { from, to } = filterOf(search);
  return chosenBuckets(from && timestampMs(from), to && timestampMs(to), now);
}

/** useGroupNames returns what names a group. */
function useGroupNames(keyNames: RequestNames["keyNames"], accountNames: Props["accountNames"]) {
  const t = useTexts(said);
  const reasonName = useReasonNames();
  return (by: By) =>
    (group: string): string => {
      if (by === "reason") return reasonName(group);
      if (by === "key") return keyNames?.get(group) ?? group;
      if (by === "account") return accountNames?.get(group) ?? group;
      return group || t.noModel;
    };
}

/** ViewSwitch chooses between the calls that were put to a model and those that were refused. */
export function ViewSwitch({
  search,
  onChange,
}: {
  readonly search: RequestSearch;
  readonly onChange: (search: RequestSearch) => void;
}): ReactNode {
  const t = useTexts(switchTexts);
  const { view: _, reason: _reason, ...others } = search;
  const { outcome: _outcome, upstream: _upstream, ...ofRefused } = others;
  return (
    <SegmentedControl
      aria-label={t.view}
      value={search.view === "refused" ? "refused" : "requests"}
      onChange={(value) => onChange(value === "refused" ? { ...ofRefused, view: "refused" } : others)}
      data={[
        { value: "requests", label: t.requests },
        { value: "refused", label: t.refused },
      ]}
      w="fit-content"
    />
  );
}

const switchTexts = texts(
  { view: "Which requests", requests: "Requests", refused: "Refused" },
  { view: "显示哪些请求", requests: "请求", refused: "被拒绝" },
);
