/** One upstream among others: its address, health, latency and models. */
import { Anchor, Badge, Code, Group, Paper, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { IconZzz } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ComponentType, ReactNode } from "react";
import type { Configuration } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import type { AttemptMeasures } from "../../../../gen/modelgateway/v1/measures_pb.ts";
import type { Upstream } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import type { Buckets } from "../../charts/span.ts";
import { Spark } from "../../charts/spark.tsx";
import { originOf, textAt, writtenEntry } from "../../configuration/document.ts";
import { FileMark } from "../../configuration/in-file.tsx";
import { useFormat } from "../../language/format.ts";
import { useJoin } from "../../language/join.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Breakable } from "../../parts/breakable.tsx";
import { Fact } from "../../parts/fact.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Parted } from "../../parts/parted.tsx";
import text from "../../parts/text.module.css";
import { useFailureText } from "../../parts/use-failure-text.ts";
import { Verbatim } from "../../parts/verbatim.tsx";
import { CheckMark, HealthMark, OffMark } from "./health-mark.tsx";
import { UpstreamMenu } from "./upstream-menu.tsx";

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
    more: (count: string) => `and ${count} more`,
    last: "Last failure",
    never: "None",
    resting: "Left alone for now, because they kept failing",
    chartHead: "First byte by hour, 24 hours",
    chart: "Median time to the first byte, hour by hour, in the last 24 hours",
    notYet: "About to be served",
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
    more: (count: string) => `另有 ${count} 个`,
    last: "最近一次失败",
    never: "无",
    resting: "因连续失败而暂停使用",
    chartHead: "首字节，24 小时逐时",
    chart: "最近 24 小时首字节时间的每小时中位数",
    notYet: "即将提供",
  },
);

/** shownModels is how many models a card names. */
const shownModels = 12;

interface Props {
  readonly of: Upstream;
  /** configuration is undefined while it is loading. */
  readonly configuration: Configuration | undefined;
  /** sums are of the last 24 hours. */
  readonly sums: readonly AttemptMeasures[];
  readonly buckets: Buckets;
}

export function UpstreamCard({ of, configuration, sums, buckets }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  const tell = useFailureText();
  const { name, kind, baseUrl, health, models, lastFailure, resting } = of;
  return (
    <Paper withBorder p={{ base: "md", sm: "lg" }} component="section" aria-label={name}>
      <Stack gap="md">
        <CardHead name={name} about={`${kind} · ${baseUrl || t.inside}`} configuration={configuration} isServed>
          <HealthMark of={health} />
        </CardHead>
        <Figures of={of} />
        <Spark
          title={t.chart}
          head={t.chartHead}
          {...{ sums, buckets }}
          of={({ firstByteP50Ms }) => firstByteP50Ms}
          write={format.duration}
        />
        {lastFailure && <Verbatim>{tell(lastFailure)}</Verbatim>}
        {resting.length > 0 && <Names of={resting} title={t.resting} icon={IconZzz} />}
        <Names of={models} title={t.models} />
      </Stack>
    </Paper>
  );
}

interface OffProps {
  readonly name: string;
  readonly configuration: Configuration;
}

/** UnservedCard is an upstream that is configured and gets no calls: it is switched off, or was just saved. */
export function UnservedCard({ name, configuration }: OffProps) {
  const t = useTexts(said);
  const entry = writtenEntry(configuration, "upstreams", name);
  const isOff = entry?.disabled === true;
  return (
    <Paper withBorder p={{ base: "md", sm: "lg" }} component="section" aria-label={name}>
      <CardHead
        name={name}
        about={`${textAt(entry, "kind")} · ${textAt(entry, "base_url")}`}
        configuration={configuration}
        isServed={!isOff}
      >
        {isOff ? (
          <OffMark />
        ) : (
          <Badge variant="default" tt="none" style={{ flex: "none" }}>
            {t.notYet}
          </Badge>
        )}
      </CardHead>
    </Paper>
  );
}

interface HeadProps {
  readonly name: string;
  readonly about: string;
  readonly configuration: Configuration | undefined;
  readonly isServed: boolean;
  /** children are marks on the right. */
  readonly children: ReactNode;
}

function CardHead({ name, about, configuration, isServed, children }: HeadProps) {
  const origin = configuration && originOf(configuration, "upstreams", name);
  return (
    <Group justify="space-between" align="flex-start" gap="xs">
      <div style={{ minWidth: 0, flex: "1 1 160px" }}>
        <Group gap="xs">
          <Title order={2} size="h4" className={text.anywhere}>
            <Anchor component={Link} to="/operator/upstreams/$upstream" params={{ upstream: name } as never} inherit>
              {name}
            </Anchor>
          </Title>
          {origin === "file" && <FileMark fileName={configuration?.fileName ?? ""} />}
        </Group>
        <Text size="sm" c="dimmed" className={text.anywhere}>
          <Parted of={about} />
        </Text>
      </div>
      <Group gap={4} wrap="nowrap">
        {children}
        {configuration && origin === "stored" && (
          <UpstreamMenu name={name} configuration={configuration} isServed={isServed} />
        )}
      </Group>
    </Group>
  );
}

/** Figures are what the last 15 minutes told of an upstream. */
export function Figures({ of }: { readonly of: Upstream }) {
  const t = useTexts(said);
  const format = useFormat();
  const join = useJoin();
  const { attempts, failures, running, queued, maxConcurrent, passesChecks, lastFailureAt } = of;
  const ms = (value: number | undefined) => (value === undefined ? "–" : format.duration(value));
  const failed = format.count(failures);
  return (
    <SimpleGrid component="dl" cols={{ base: 2, xs: 3 }} m={0} verticalSpacing="xs">
      <Fact name={t.attempts}>{format.count(attempts)}</Fact>
      <Fact name={t.failures}>{attempts > 0 ? join.aside(failed, format.percent(failures / attempts)) : failed}</Fact>
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
  );
}

interface NamesProps {
  readonly of: readonly string[];
  readonly title: string;
  readonly icon?: ComponentType<{ readonly size?: number; readonly color?: string; readonly "aria-hidden"?: boolean }>;
}

/** Names lists models' names below a title; of many, the first. */
function Names({ of, title, icon: Icon }: NamesProps) {
  const t = useTexts(said);
  const format = useFormat();
  const rest = of.length - shownModels;
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
        {of.slice(0, shownModels).map((model) => (
          <Code key={model} className={text.anywhere}>
            <Breakable>{model}</Breakable>
          </Code>
        ))}
        {rest > 0 && <Text size="xs">{t.more(format.count(rest))}</Text>}
      </Group>
    </div>
  );
}
