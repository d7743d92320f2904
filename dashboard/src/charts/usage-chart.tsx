/**
 * One measure of usage over time, stacked by model or key; and the same as a table for readers who cannot see the
 * bars.
 */
import { Group, Paper, Skeleton, Text, Title } from "@mantine/core";
import { lazy, Suspense } from "react";
import { fetched } from "../fetched.ts";
import { useFormat } from "../language/format.ts";
import { texts, useLanguage, useTexts } from "../language/language.tsx";
import { ChartTable } from "./chart-table.tsx";
import { Legend } from "./legend.tsx";
import { type Buckets, bucketWriter } from "./span.ts";
import { type Measure, type Part, type Split, total } from "./split.ts";

const Bars = lazy(fetched(async () => ({ default: (await import("./bars.tsx")).Bars })));

const said = texts(
  { total: "Total", others: "Others", overTime: (what: string) => `${what} over time` },
  { total: "合计", others: "其他", overTime: (what: string) => `${what}走势` },
);

/** shownParts is the number of separate series; the rest is summed as one. */
const shownParts = 5;

const colors = ["indigo.6", "orange.6", "teal.7", "grape.5", "cyan.7", "gray.6"];

interface Props {
  readonly title: string;
  readonly of: Split;
  readonly measure: Measure;
  /** span says whether the buckets are hours or days. */
  readonly span: Pick<Buckets, "bucket">;
  readonly nameOf: (id: string) => string;
}

interface Series {
  readonly label: string;
  readonly has: (part: Part) => boolean;
}

/** useGroups returns the groups that have a series of their own, and the rest as one. */
function useGroups({ of, nameOf }: Pick<Props, "of" | "nameOf">): readonly Series[] {
  const t = useTexts(said);
  const shown = of.parts.slice(0, shownParts).map(({ id }) => id);
  return [
    ...shown.map((id) => ({ label: nameOf(id), has: (part: Part) => part.id === id })),
    ...(of.parts.length > shownParts ? [{ label: t.others, has: ({ id }: Part) => !shown.includes(id) }] : []),
  ];
}

/** seriesOf returns the series of the groups. A model's name may look like a path into the data, so series have names of their own. */
function seriesOf(groups: readonly Series[]) {
  return groups.map(({ label }, i) => ({ name: `s${i}`, label, color: colors[i] ?? "gray.6" }));
}

/** ChartLegend names the colours of all charts of the same groups. */
export function ChartLegend(props: Pick<Props, "of" | "nameOf">) {
  return <Legend of={seriesOf(useGroups(props))} />;
}

export function UsageChart({ title, of, measure, span, nameOf }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  const { language } = useLanguage();
  const when = bucketWriter(span, language);
  const write = (value: bigint) => (measure === "cost" ? format.rounded(value) : format.count(value));
  const short = (value: number) =>
    measure === "cost" ? format.rounded(BigInt(Math.round(value))) : format.compact(value);
  const groups = useGroups({ of, nameOf });
  const series = seriesOf(groups);
  const sumsAt = (parts: readonly Part[]) => groups.map(({ has }) => total(parts.filter(has), measure));
  const rows = of.buckets.map(({ at, parts }) => ({
    at: when(at),
    ...Object.fromEntries(sumsAt(parts).map((sum, i) => [`s${i}`, Number(sum)])),
  }));
  return (
    <Paper withBorder p={{ base: "md", sm: "lg" }} component="section" aria-label={t.overTime(title)} miw={0}>
      <Group justify="space-between" mb="md" wrap="nowrap">
        <Title order={3} size="h5">
          {title}
        </Title>
        <Text fw={600} style={{ fontVariantNumeric: "tabular-nums" }}>
          {measure === "tokens" ? format.compact(of.total.tokens) : write(of.total[measure])}
        </Text>
      </Group>
      <Suspense fallback={<Skeleton height={200} />}>
        <Bars title={title} rows={rows} series={series} write={short} one={measure === "cost" ? 1_000_000 : 1} />
      </Suspense>
      <ChartTable
        caption={t.overTime(title)}
        columns={[{ name: "total", label: t.total }, ...series]}
        rows={of.buckets.map(({ at, parts }) => ({
          ...{ begins: at, when: when(at) },
          values: [total(parts, measure), ...sumsAt(parts)].map(write),
        }))}
      />
    </Paper>
  );
}
