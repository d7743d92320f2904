/** The account's state and its latest usage, refreshed every half minute while the page is visible. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { Group, SegmentedControl, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useInterval } from "@mantine/hooks";
import { useState } from "react";
import { type Account, AccountService } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { KeyService } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { UsageService } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Page } from "../../parts/page.tsx";
import { AccountCards } from "./account-cards.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { bucketsOf, type SpanName, spanNames, spans } from "./span.ts";
import { split } from "./split.ts";
import { TopTable } from "./top-table.tsx";
import { UsageChart } from "./usage-chart.tsx";

const said = texts(
  {
    title: "Overview",
    usage: "Usage",
    span: "Time",
    day: "24 hours",
    week: "7 days",
    month: "30 days",
    by: "Group by",
    model: "By model",
    keyId: "By key",
    hours: "Hours are in your time zone.",
    days: "Days run from midnight to midnight UTC.",
    spend: "Spend",
    requests: "Requests",
    topModels: "Top models",
    topKeys: "Top keys",
    modelColumn: "Model",
    keyColumn: "Key",
    gone: (id: string) => `Deleted key ${id.slice(-6)}`,
  },
  {
    title: "概览",
    usage: "用量",
    span: "时段",
    day: "24 小时",
    week: "7 天",
    month: "30 天",
    by: "分组方式",
    model: "按模型",
    keyId: "按密钥",
    hours: "小时按您所在的时区显示。",
    days: "每天按 UTC 零点划分。",
    spend: "消费",
    requests: "请求数",
    topModels: "消费最多的模型",
    topKeys: "消费最多的密钥",
    modelColumn: "模型",
    keyColumn: "密钥",
    gone: (id: string) => `已删除的密钥 ${id.slice(-6)}`,
  },
);

const refreshMs = 30_000;
const often = { refetchInterval: refreshMs };

export function OverviewPage() {
  const t = useTexts(said);
  const [spanName, setSpanName] = useState<SpanName>("week");
  const [by, setBy] = useState<"model" | "keyId">("model");
  const [now, setNow] = useState(Date.now);
  useInterval(() => setNow(Date.now()), refreshMs, { autoInvoke: true });
  const span = spans[spanName];
  const begins = bucketsOf(span, now);
  const asked = { bucket: span.bucket, from: timestampFromMs(begins[0] ?? now) };
  const account = useQuery(AccountService.method.getAccount, {}, often);
  const keys = useQuery(KeyService.method.listKeys, {}, often);
  const models = useQuery(UsageService.method.listUsage, { ...asked, byModel: true }, often);
  const spenders = useQuery(UsageService.method.listUsage, { ...asked, byKey: true }, often);

  const byModel = models.data && split(models.data.sums, "model", begins);
  const names = new Map(keys.data?.keys.map(({ id, name }) => [id, name]));
  const keyName = (id: string) => names.get(id) ?? (keys.data ? t.gone(id) : id);
  const isNew = byModel?.requests === 0n && keys.data?.keys.every(({ lastUsedAt }) => !lastUsedAt) === true;
  return (
    <Page title={t.title}>
      <Answer of={account} lines={3}>
        {(answer) => <AccountCards of={answer} spent={byModel} span={t[spanName]} />}
      </Answer>
      {isNew && keys.data ? (
        <FirstSteps hasKey={keys.data.keys.length > 0} hasCredit={canPay(account.data?.account)} />
      ) : (
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
            <Group gap="sm">
              <SegmentedControl
                aria-label={t.by}
                data={[
                  { value: "model", label: t.model },
                  { value: "keyId", label: t.keyId },
                ]}
                value={by}
                onChange={setBy}
              />
              <SegmentedControl
                aria-label={t.span}
                data={spanNames.map((value) => ({ value, label: t[value] }))}
                value={spanName}
                onChange={setSpanName}
              />
            </Group>
          </Group>
          <Answer of={by === "model" ? models : spenders} lines={9}>
            {({ sums }) => {
              const chart = { of: split(sums, by, begins), span: spanName, nameOf: by === "model" ? ownName : keyName };
              return (
                <SimpleGrid cols={{ base: 1, lg: 2 }}>
                  <UsageChart title={t.spend} measure="cost" {...chart} />
                  <UsageChart title={t.requests} measure="requests" {...chart} />
                </SimpleGrid>
              );
            }}
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
      )}
    </Page>
  );
}

function ownName(id: string): string {
  return id;
}

/** canPay returns whether the account is postpaid or has a balance. While that is unknown, it returns true. */
function canPay(account: Account | undefined): boolean {
  return account === undefined || account.postpaid || account.balance > 0n;
}
