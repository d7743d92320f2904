/** Draws how upstreams and models did over time: the share that was answered, the time to the first byte, and output tokens a second. */
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { Box, Paper, SimpleGrid, Skeleton, Title } from "@mantine/core";
import { lazy, Suspense } from "react";
import type { AttemptMeasures } from "../../../gen/modelgateway/v1/measures_pb.ts";
import { fetched } from "../fetched.ts";
import { counted } from "../language/counted.ts";
import { useFormat } from "../language/format.ts";
import { texts, useLanguage, useTexts } from "../language/language.tsx";
import { ChartTable } from "./chart-table.tsx";
import { Legend } from "./legend.tsx";
import { type Buckets, bucketWriter } from "./span.ts";

const Lines = lazy(fetched(async () => ({ default: (await import("./lines.tsx")).Lines })));

const said = texts(
  {
    uptime: "Answered",
    latency: "Time to the first byte",
    throughput: "Output tokens a second",
    median: "Median",
    slow: "95th percentile",
    attempts: "Share of attempts",
    calls: "Share of calls",
    overTime: (what: string) => `${what} over time`,
    rate: (count: string) => `${counted(count, "token")} a second`,
  },
  {
    uptime: "应答率",
    latency: "首字节时间",
    throughput: "每秒输出 Token 数",
    median: "中位数",
    slow: "P95",
    attempts: "占尝试次数的比例",
    calls: "占调用次数的比例",
    overTime: (what: string) => `${what}走势`,
    rate: (count: string) => `每秒 ${count} 个 Token`,
  },
);

/** Measured is the measures of a bucket. */
export interface Measured {
  readonly beginsAt?: Timestamp | undefined;
  /** answered is the share that was answered, 0 to 1. */
  readonly answered: number | undefined;
  readonly firstByteP50Ms?: number | undefined;
  readonly firstByteP95Ms?: number | undefined;
  readonly tokensPerSecondP50?: number | undefined;
}

interface Series {
  readonly label: string;
  readonly color: string;
  readonly of: (measures: Measured) => number | undefined;
}

interface ChartProps {
  readonly title: string;
  readonly series: readonly Series[];
  readonly write: (value: number) => string;
  readonly most?: number;
  /** one is what a chart without any value goes up to. Default: 1. */
  readonly one?: number;
  readonly sums: readonly Measured[];
  readonly buckets: Buckets;
}

interface Props {
  /** sums are of one group. */
  readonly sums: readonly Measured[];
  readonly buckets: Buckets;
  /** parts are what the shares are of. */
  readonly parts: "attempts" | "calls";
}

export function MeasureCharts({ sums, buckets, parts }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  const shared = { sums, buckets };
  const rounded = (value: number) => format.count(Math.round(value));
  return (
    <SimpleGrid cols={{ base: 1, lg: 3 }}>
      <MeasureChart
        {...shared}
        title={t.uptime}
        write={format.percent}
        most={1}
        series={[{ label: t[parts], color: "teal.7", of: ({ answered }) => answered }]}
      />
      <MeasureChart
        {...shared}
        title={t.latency}
        write={format.duration}
        one={1000}
        series={[
          { label: t.median, color: "indigo.6", of: ({ firstByteP50Ms }) => firstByteP50Ms },
          { label: t.slow, color: "orange.6", of: ({ firstByteP95Ms }) => firstByteP95Ms },
        ]}
      />
      <MeasureChart
        {...shared}
        title={t.throughput}
        write={rounded}
        series={[{ label: t.median, color: "grape.5", of: ({ tokensPerSecondP50 }) => tokensPerSecondP50 }]}
      />
    </SimpleGrid>
  );
}

/** answeredShare is the share of attempts that did not fail; undefined for no attempts. */
export function answeredShare({ attempts, failures }: Pick<AttemptMeasures, "attempts" | "failures">) {
  return attempts === 0n ? undefined : 1 - Number(failures) / Number(attempts);
}

function MeasureChart({ title, series, write, most, one = 1, sums, buckets }: ChartProps) {
  const t = useTexts(said);
  const { language } = useLanguage();
  const when = bucketWriter(buckets, language);
  const at = new Map(sums.map((sum) => [sum.beginsAt ? timestampMs(sum.beginsAt) : 0, sum]));
  const values = buckets.begins.map((begins) => ({
    begins,
    values: series.map(({ of }) => {
      const sum = at.get(begins);
      return sum && of(sum);
    }),
  }));
  const rows = values.map(({ begins, values }) => ({
    at: when(begins),
    ...Object.fromEntries(values.map((value, i) => [`s${i}`, value ?? null])),
  }));
  const lines = series.map(({ label, color }, i) => ({ name: `s${i}`, label, color }));
  return (
    <Paper withBorder p={{ base: "md", sm: "lg" }} component="section" aria-label={t.overTime(title)} miw={0}>
      <Title order={3} size="h5" mb="md">
        {title}
      </Title>
      <Suspense fallback={<Skeleton height={180} />}>
        <Lines {...{ title, rows, write, one }} {...(most === undefined ? {} : { most })} series={lines} />
      </Suspense>
      {lines.length > 1 && (
        <Box mt="sm">
          <Legend of={lines} />
        </Box>
      )}
      <ChartTable
        caption={t.overTime(title)}
        columns={lines}
        rows={values.map(({ begins, values }) => ({
          ...{ begins, when: when(begins) },
          values: values.map((value) => (value === undefined ? "–" : write(value))),
        }))}
      />
    </Paper>
  );
}
