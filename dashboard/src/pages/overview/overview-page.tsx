/** The account's state and its latest usage, refreshed every half minute while the page is visible. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { Alert, Group, SegmentedControl, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useInterval } from "@mantine/hooks";
import { keepPreviousData } from "@tanstack/react-query";
import { useState } from "react";
import { AccountService } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { type ApiKey, KeyService } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { UsageService } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { beforeOf, bucketsOf, type SpanName, spans } from "../../charts/span.ts";
import { type Measure, split } from "../../charts/split.ts";
import { UsageCharts } from "../../charts/usage-charts.tsx";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Failure } from "../../parts/failure.tsx";
import { Page } from "../../parts/page.tsx";
import { BalanceFigure } from "./balance-figure.tsx";
import { Connect } from "./connect.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { SpanControl } from "./span-control.tsx";
import { TopTable } from "./top-table.tsx";
import { TotalsFigures } from "./totals-figures.tsx";

const said = texts(
  {
    title: "Overview",
    usage: "Usage",
    by: "Group by",
    model: "By model",
    keyId: "By key",
    hours: "Hours are in your time zone.",
    days: "Days run from midnight to midnight UTC.",
    topModels: "Top models",
    topKeys: "Top keys",
    modelColumn: "Model",
    keyColumn: "Key",
    gone: (id: string) => `Deleted key ${id.slice(-6)}`,
    partial: (since: string) =>
      `There are more calls than are read at once. Errors, latency and hits of the cache are of the calls since ${since}.`,
  },
  {
    title: "概览",
    usage: "用量",
    by: "分组方式",
    model: "按模型",
    keyId: "按密钥",
    hours: "小时按您所在的时区显示。",
    days: "每天按 UTC 零点划分。",
    topModels: "消费最多的模型",
    topKeys: "消费最多的密钥",
    modelColumn: "模型",
    keyColumn: "密钥",
    gone: (id: string) => `已删除的密钥 ${id.slice(-6)}`,
    partial: (since: string) => `调用数超出一次可读取的数量，错误、耗时和缓存命中仅包含 ${since} 之后的调用。`,
  },
);

const refreshMs = 30_000;
const often = { refetchInterval: refreshMs, placeholderData: keepPreviousData };
const measures = ["cost", "requests", "tokens"] as const satisfies readonly Measure[];

/** useUsage asks for what was used in the span, and in the one before. */
function useUsage(spanName: SpanName) {
  const [now, setNow] = useState(Date.now);
  useInterval(() => setNow(Date.now()), refreshMs, { autoInvoke: true });
  const span = spans[spanName];
  const begins = bucketsOf(span, now);
  const { bucket } = span;
  const from = timestampFromMs(begins[0] ?? now);
  const earlier = beforeOf(span, begins, now);
  const past = { from: timestampFromMs(earlier.from), to: timestampFromMs(earlier.to) };
  const { listUsage, summarizeRequests, summarizeRefused } = UsageService.method;
  return {
    begins,
    models: useQuery(listUsage, { bucket, from, byModel: true }, often),
    spenders: useQuery(listUsage, { bucket, from, byKey: true }, often),
    before: useQuery(listUsage, { bucket, ...past }, { placeholderData: keepPreviousData }),
    calls: useQuery(summarizeRequests, { bucket, filter: { from } }, often),
    refused: useQuery(summarizeRefused, { bucket, filter: { from } }, often),
    callsBefore: useQuery(summarizeRequests, { bucket, filter: past }, { placeholderData: keepPreviousData }),
  };
}

export function OverviewPage() {
  const t = useTexts(said);
  const [spanName, setSpanName] = useState<SpanName>("week");
  const account = useQuery(AccountService.method.getAccount, {}, often);
  const keys = useQuery(KeyService.method.listKeys, {}, often);
  const usage = useUsage(spanName);
  const format = useFormat();
  const { begins, models, before, calls, callsBefore, refused } = usage;
  const isPartial = calls.data?.completeFrom;
  const sums = models.data && split(models.data.sums, "model", begins).total;
  const isNew = sums?.requests === 0n && keys.data?.keys.every(({ lastUsedAt }) => !lastUsedAt) === true;
  return (
    <Page title={t.title} actions={!isNew && <SpanControl value={spanName} onChange={setSpanName} />}>
      {isNew && keys.data ? (
        <FirstSteps keys={keys.data.keys} account={account.data?.account} />
      ) : (
        <Stack gap="lg">
          {isPartial && <Alert color="gray">{t.partial(format.moment(isPartial))}</Alert>}
          {calls.error && !calls.data && <Failure error={calls.error} retry={() => void calls.refetch()} />}
          <TotalsFigures
            now={sums}
            before={before.data && split(before.data.sums, "model", []).total}
            calls={calls.data?.total}
            callsBefore={callsBefore.data?.total}
            hasFailed={{ now: models.isError, calls: calls.isError }}
            refused={refused.data && { count: refused.data.total, at: "/usage" }}
          >
            <Answer of={account} lines={3}>
              {(answer) => <BalanceFigure of={answer} />}
            </Answer>
          </TotalsFigures>
          <Connect />
          <Charts {...usage} keys={keys} spanName={spanName} />
        </Stack>
      )}
    </Page>
  );
}

type Usage = ReturnType<typeof useUsage>;

interface ChartsProps extends Pick<Usage, "begins" | "models" | "spenders"> {
  readonly keys: { readonly data?: { readonly keys: readonly ApiKey[] } | undefined };
  readonly spanName: SpanName;
}

function Charts({ begins, models, spenders, keys, spanName }: ChartsProps) {
  const t = useTexts(said);
  const [by, setBy] = useState<"model" | "keyId">("model");
  const names = new Map(keys.data?.keys.map(({ id, name }) => [id, name]));
  const keyName = (id: string) => names.get(id) ?? (keys.data ? t.gone(id) : id);
  return (
    <Stack gap="md">
      <Group justify="space-between" align="flex-end" gap="sm">
        <div>
          <Title order={2} size="h4">
            {t.usage}
          </Title>
          <Text size="sm" c="dimmed">
            {spanName === "day" ? t.hours : t.days}
          </Text>
        </div>
        <SegmentedControl
          aria-label={t.by}
          data={[
            { value: "model", label: t.model },
            { value: "keyId", label: t.keyId },
          ]}
          value={by}
          onChange={setBy}
        />
      </Group>
      <Answer of={by === "model" ? models : spenders} lines={9}>
        {({ sums }) => (
          <UsageCharts
            of={split(sums, by, begins)}
            span={spans[spanName]}
            nameOf={by === "model" ? ownName : keyName}
            measures={measures}
          />
        )}
      </Answer>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Answer of={models}>
          {({ sums }) => (
            <TopTable
              title={t.topModels}
              column={t.modelColumn}
              of={split(sums, "model", begins)}
              nameOf={ownName}
              searchOf={(model) => ({ model })}
            />
          )}
        </Answer>
        <Answer of={spenders}>
          {({ sums }) => (
            <TopTable
              title={t.topKeys}
              column={t.keyColumn}
              of={split(sums, "keyId", begins)}
              nameOf={keyName}
              searchOf={(key) => ({ key })}
            />
          )}
        </Answer>
      </SimpleGrid>
    </Stack>
  );
}

function ownName(id: string): string {
  return id;
}
