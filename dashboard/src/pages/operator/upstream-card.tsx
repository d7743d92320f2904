/** One upstream: what it is, how it fares, what it serves. */
import { Code, Group, Paper, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import type { Upstream } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { useFormat } from "../../language/format.ts";
import { useWords, words } from "../../language/language.tsx";
import { Fact } from "../../parts/fact.tsx";
import { Moment } from "../../parts/moment.tsx";
import text from "../../parts/text.module.css";
import { HealthMark } from "./health-mark.tsx";

const said = words(
  {
    inside: "In the gateway itself",
    attempts: "Attempts",
    failures: "Failures",
    median: "First byte, median",
    slow: "First byte, 95th percentile",
    running: "Running now",
    models: "Models",
    noModels: "None",
    last: "Last failure",
    never: "None",
  },
  {
    inside: "网关内置",
    attempts: "尝试次数",
    failures: "失败次数",
    median: "首字节中位数",
    slow: "首字节 P95",
    running: "进行中",
    models: "模型",
    noModels: "无",
    last: "最近一次失败",
    never: "无",
  },
);

export function UpstreamCard({ of }: { readonly of: Upstream }) {
  const t = useWords(said);
  const format = useFormat();
  const { name, kind, baseUrl, health, attempts, failures, running, models, lastFailure, lastFailureAt } = of;
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
          <Fact name={t.running}>{format.count(running)}</Fact>
          <Fact name={t.median}>{ms(of.firstByteP50Ms)}</Fact>
          <Fact name={t.slow}>{ms(of.firstByteP95Ms)}</Fact>
          <Fact name={t.last}>{lastFailureAt ? <Moment at={lastFailureAt} as="ago" /> : t.never}</Fact>
        </SimpleGrid>
        {lastFailure && (
          <Code block className={text.anywhere} style={{ whiteSpace: "pre-wrap" }}>
            {lastFailure}
          </Code>
        )}
        <div>
          <Text size="xs" c="dimmed" mb={4}>
            {t.models}
          </Text>
          <Group gap={6}>
            {models.length === 0 && <Text size="sm">{t.noModels}</Text>}
            {models.map((model) => (
              <Code key={model} className={text.anywhere}>
                {model}
              </Code>
            ))}
          </Group>
        </div>
      </Stack>
    </Paper>
  );
}
