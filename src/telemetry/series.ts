/**
 * Counters and histograms for what every call counts. prom-client's own write out a call's labels to find their series, each
 * time anew; these go from label to label. prom-client still writes them out: in its registry they look like its own.
 */
import type { Metric, Registry } from "prom-client";

interface MetricInit<L extends string> {
  readonly registry: Registry;
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
}

type Labels<L extends string> = Readonly<Record<L, string>>;

export interface Counter<L extends string> {
  inc(labels: Labels<L>, by?: number): void;
}

export function createCounter<L extends string>(init: MetricInit<L>): Counter<L> {
  const series = createSeries(init.labelNames, () => ({ value: 0 }));
  register(init, "counter", () => series.all().map(({ labels, tally: { value } }) => ({ labels, value })));
  return {
    inc(labels, by = 1) {
      series.at(labels).value += by;
    },
  };
}

export interface Histogram<L extends string> {
  observe(labels: Labels<L>, value: number): void;
}

/** `buckets` are the upper bounds, each above the one before. */
export function createHistogram<L extends string>(
  init: MetricInit<L> & { readonly buckets: readonly number[] },
): Histogram<L> {
  const { name, labelNames, buckets } = init;
  const series = createSeries(labelNames, () => ({ counts: buckets.map(() => 0), sum: 0, count: 0 }));
  const bucket = (labels: Labels<L>, le: number | string, value: number) => {
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value };
  };
  register(init, "histogram", () =>
    series
      .all()
      .flatMap(({ labels, tally: { counts, sum, count } }) => [
        ...buckets.map((bound, i) => bucket(labels, bound, total(counts.slice(0, i + 1)))),
        bucket(labels, "+Inf", count),
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: count },
      ]),
  );
  return {
    observe(labels, value) {
      const tally = series.at(labels);
      tally.sum += value;
      tally.count++;
      const i = buckets.findIndex((bound) => value <= bound);
      // What is above the last bound is in the count alone.
      if (i >= 0) (tally.counts[i] as number)++;
    },
  };
}

function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** What a registry asks of a metric. */
function register(
  { registry, name, help, labelNames }: MetricInit<string>,
  type: "counter" | "histogram",
  values: () => readonly object[],
): void {
  const metric = { name, labelNames, get: async () => ({ name, help, type, values: values(), aggregator: "sum" }) };
  registry.registerMetric(metric as unknown as Metric);
}

/** A place on the way from label to label; where the way ends it has a tally. */
interface Place<T> {
  readonly next: Map<string, Place<T>>;
  tally?: T;
}

interface Series<L extends string, T> {
  /** Returns the tally of these labels, which is new where there was none. */
  at(labels: Labels<L>): T;
  /** In the order in which they came to be. */
  all(): readonly { readonly labels: Labels<L>; readonly tally: T }[];
}

function createSeries<L extends string, T>(labelNames: readonly L[], newTally: () => T): Series<L, T> {
  const start: Place<T> = { next: new Map() };
  const all: { readonly labels: Labels<L>; readonly tally: T }[] = [];
  return {
    all: () => all,
    at(labels) {
      let place = start;
      for (const name of labelNames) place = place.next.get(labels[name]) ?? placeAfter(place, labels[name]);
      if (place.tally) return place.tally;
      place.tally = newTally();
      all.push({ labels, tally: place.tally });
      return place.tally;
    },
  };
}

function placeAfter<T>({ next }: Place<T>, label: string): Place<T> {
  const place: Place<T> = { next: new Map() };
  next.set(label, place);
  return place;
}
