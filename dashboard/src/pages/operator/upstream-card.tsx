/** One upstream: its address, health and models. */
import { Code, Group, Paper, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { IconZzz } from "@tabler/icons-react";
import type { ComponentType } from "react";
import type { Upstream } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Fact } from "../../parts/fact.tsx";
import { Moment } from "../../parts/moment.tsx";
import text from "../../parts/text.module.css";
import { CheckMark, HealthMark } from "./health-mark.tsx";

const said = texts(
  {
    inside: "In the gateway itself",
    attempts: "Attempts",
    failures: "Failures",
    median: "First byte, median",
    slow: "First byte, 95th percentile",
    running: "Running now",
    runningOf: (running: string, most: string) => `${running} of ${most}`,
    waiting: "Waiting for a place",
    checks: "Health checks",
    models: "Models",
    noModels: "None",
    last: "Last failure",
    never: "None",
    resting: "Left alone for now, because they kept failing",
  },
  {
    inside: "网关内置",
    attempts: "尝试次数",
    failures: "失败次数",
    median: "首字节中位数",
    slow: "首字节 P95",
    running: "进行中",
    runningOf: (running: string, most: string) => `${running} / ${most}`,
    waiting: "排队中",
    checks: "健康检查",
    models: "模型",
    noModels: "无",
    last: "最近一次失败",
    never: "无",
    resting: "因连续失败而暂停使用",
  },
);

export function UpstreamCard({ of }: { readonly of: Upstream }) {
  const t = useTexts(said);
  const format = useFormat();
  const { name, kind, baseUrl, health, attempts, failures, models, lastFailure, lastFailureAt, resting } = of;
  const { running, queued, maxConcurrent, passesChecks } = of;
  const ms = (value: number | undefined) => (value === undefined ? "–" : format.duration(value));
  const failed = attempts > 0 ? ` (${format.percent(failures / attempts)})` : "";
  return (
    <Paper withBorder p="lg" component="section" aria-label={name}>
      <Stack gap="md">
        <Group justify="space-between" align="flex-start" wrap="nowrap">
          <div>
            <Title order={2} size="h4" className={text.anywhere}>
              {name}
            </Title>
            <Text size="sm" c="dimmed" className={text.anywhere}>
              {kind} · {baseUrl || t.inside}
            </Text>
          </div>
          <HealthMark of={health} />
        </Group>
        <SimpleGrid component="dl" cols={{ base: 2, xs: 3 }} m={0} verticalSpacing="xs">
          <Fact name={t.attempts}>{format.count(attempts)}</Fact>
          <Fact name={t.failures}>
            {format.count(failures)}
            {failed}
          </Fact>
          <Fact name={t.running}>
            {maxConcurrent === undefined
              ? format.count(running)
              : t.runningOf(format.count(running), format.count(maxConcurrent))}
          </Fact>
          <Fact name={t.median}>{ms(of.firstByteP50Ms)}</Fact>
          <Fact name={t.slow}>{ms(of.firstByteP95Ms)}</Fact>
          <Fact name={t.last}>{lastFailureAt ? <Moment at={lastFailureAt} as="ago" /> : t.never}</Fact>
          {maxConcurrent !== undefined && <Fact name={t.waiting}>{format.count(queued)}</Fact>}
          {passesChecks !== undefined && (
            <Fact name={t.checks}>
              <CheckMark passes={passesChecks} />
            </Fact>
          )}
        </SimpleGrid>
        {lastFailure && (
          <Code block className={text.anywhere} style={{ whiteSpace: "pre-wrap" }}>
            {lastFailure}
          </Code>
        )}
        {resting.length > 0 && <Names of={resting} title={t.resting} icon={IconZzz} />}
        <Names of={models} title={t.models} />
      </Stack>
    </Paper>
  );
}

interface NamesProps {
  readonly of: readonly string[];
  readonly title: string;
  readonly icon?: ComponentType<{ readonly size?: number; readonly color?: string; readonly "aria-hidden"?: boolean }>;
}

/** Names lists models' names below a title. */
function Names({ of, title, icon: Icon }: NamesProps) {
  const t = useTexts(said);
  return (
    <div>
      <Group gap={4} mb={4} wrap="nowrap">
        {Icon && <Icon size={14} color="var(--mantine-color-orange-7)" aria-hidden />}
        <Text size="xs" c="dimmed">
          {title}
        </Text>
      </Group>
      <Group gap={6}>
        {of.length === 0 && <Text size="sm">{t.noModels}</Text>}
        {of.map((model) => (
          <Code key={model} className={text.anywhere}>
            {model}
          </Code>
        ))}
      </Group>
    </div>
  );
}
