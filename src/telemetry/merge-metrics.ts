/**
 * Merges the metrics of several processes into those of one: counts, sums and histograms are added; a gauge of something that all of them
 * see is taken once, by the way that its metric names (`aggregator`, as prom-client knows it).
 */
import { type Metric, Registry } from "prom-client";

/** Aggregator is how a metric's values of several processes become one. */
export type Aggregator = "sum" | "first" | "min" | "max" | "average" | "omit";

/** MetricJson is a metric as prom-client's `getMetricsAsJSON` returns it. */
export interface MetricJson {
  readonly name: string;
  readonly help: string;
  readonly type: string | number;
  readonly aggregator?: string | undefined;
  readonly values: readonly MetricValue[];
}

interface MetricValue {
  /** metricName is set for the parts of a histogram. */
  readonly metricName?: string | undefined;
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  /** Null where it was no number, and came as JSON. */
  readonly value: number | null;
}

const aggregators: Readonly<Record<Aggregator, (values: readonly number[]) => number>> = {
  sum: (values) => values.reduce((sum, value) => sum + value, 0),
  first: ([first = 0]) => first,
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  average: (values) => values.reduce((sum, value) => sum + value, 0) / values.length,
  omit: () => Number.NaN,
};

/** mergeMetrics merges the metrics of processes, each a list. */
export function mergeMetrics(processes: readonly (readonly MetricJson[])[]): MetricJson[] {
  const byName = Map.groupBy(processes.flat(), ({ name }) => name);
  return [...byName.values()].flatMap((same) => {
    const [{ name, help, type, aggregator = "sum" }] = same as [MetricJson];
    if (aggregator === "omit") return [];
    const merge = aggregators[aggregator as Aggregator] ?? aggregators.sum;
    return [{ name, help, type, aggregator, values: mergeValues(same, merge) }];
  });
}

function mergeValues(metrics: readonly MetricJson[], merge: (values: readonly number[]) => number): MetricValue[] {
  const all = metrics.flatMap(({ values }) => values).filter(({ value }) => value !== null && !Number.isNaN(value));
  const series = Map.groupBy(all, ({ metricName = "", labels }) => `${metricName} ${labelsKey(labels)}`);
  return [...series.values()].map((same) => {
    const [{ metricName, labels }] = same as [MetricValue];
    return { metricName, labels, value: merge(same.map(({ value }) => value as number)) };
  });
}

function labelsKey(labels: MetricValue["labels"]): string {
  return JSON.stringify(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** growing returns those of metrics that only grow: what a process that has ended has counted stays counted. */
export function growing(metrics: readonly MetricJson[]): MetricJson[] {
  return metrics.filter(
    ({ type, aggregator }) => (type === "counter" || type === "histogram") && aggregator !== "omit",
  );
}

/** metricsText writes metrics as Prometheus reads them. */
export function metricsText(metrics: readonly MetricJson[]): Promise<string> {
  const registry = new Registry();
  for (const metric of metrics) {
    const labelNames = [...new Set(metric.values.flatMap(({ labels }) => Object.keys(labels)))];
    registry.registerMetric({ name: metric.name, labelNames, get: async () => metric } as unknown as Metric);
  }
  return registry.metrics();
}
