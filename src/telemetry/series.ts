/**
 * Counters and histograms for the metrics of every call. prom-client's own serialise a call's labels to find their
 * series on each call; these look them up label by label, and `bind` keeps the series that was found. In prom-client's
 * registry they look like its own.
 */
import type { Metric, Registry } from "prom-client";

interface MetricInit<L extends string> {
  readonly registry: Registry;
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
}

type Labels<L extends string> = Readonly<Record<L, string>>;

/** BoundSeries is a series bound to its labels. It is exported once it has been used. */
export interface BoundSeries {
  /** add increases a counter, or observes a value in a histogram. */
  add(value: number): void;
}

export interface Counter<L extends string> {
  inc(labels: Labels<L>, by?: number): void;
  /** bind returns the series with these labels, for repeated use. */
  bind(labels: Labels<L>): BoundSeries;
}

export function createCounter<L extends string>(init: MetricInit<L>): Counter<L> {
  const series = createSeries(init.labelNames, () => new Count());
  register(init, "counter", () => series.all().map(({ labels, tally: { value } }) => ({ labels, value })));
  return {
    inc: (labels, by = 1) => series.at(labels).add(by),
    bind: (labels) => new LazyBoundSeries(series, labels),
  };
}

class Count {
  value = 0;

  add(by: number): void {
    this.value += by;
  }
}

export interface Histogram<L extends string> {
  observe(labels: Labels<L>, value: number): void;
  bind(labels: Labels<L>): BoundSeries;
}

/** createHistogram creates a histogram. `buckets` are the upper bounds, ascending. */
export function createHistogram<L extends string>(
  init: MetricInit<L> & { readonly buckets: readonly number[] },
): Histogram<L> {
  const { name, labelNames, buckets } = init;
  const series = createSeries(labelNames, () => new BucketCounts(buckets));
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
    observe: (labels, value) => series.at(labels).add(value),
    bind: (labels) => new LazyBoundSeries(series, labels),
  };
}

class BucketCounts {
  readonly #bounds: readonly number[];
  readonly counts: number[];
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = bounds.map(() => 0);
  }

  add(value: number): void {
    this.sum += value;
    this.count++;
    let i = 0;
    while (i < this.counts.length && value > (this.#bounds[i] as number)) i++;
    // Values above the last bound are in `count` only.
    if (i < this.counts.length) (this.counts[i] as number)++;
  }
}

function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** register adds a metric to the registry, with the interface that the registry expects. */
function register(
  { registry, name, help, labelNames }: MetricInit<string>,
  type: "counter" | "histogram",
  values: () => readonly object[],
): void {
  const metric = { name, labelNames, get: async () => ({ name, help, type, values: values(), aggregator: "sum" }) };
  registry.registerMetric(metric as unknown as Metric);
}

/** LabelNode is a node of the tree of labels. The leaves have a tally. */
interface LabelNode<T> {
  readonly next: Map<string, LabelNode<T>>;
  tally?: T;
}

interface Series<L extends string, T> {
  /** at returns the tally of these labels; it creates one if there is none. */
  at(labels: Labels<L>): T;
  /** all returns the series in the order of their creation. */
  all(): readonly { readonly labels: Labels<L>; readonly tally: T }[];
}

function createSeries<L extends string, T>(labelNames: readonly L[], newTally: () => T): Series<L, T> {
  const start: LabelNode<T> = { next: new Map() };
  const all: { readonly labels: Labels<L>; readonly tally: T }[] = [];
  return {
    all: () => all,
    at(labels) {
      let step = start;
      for (const name of labelNames) step = step.next.get(labels[name]) ?? addLabelNode(step, labels[name]);
      if (step.tally) return step.tally;
      step.tally = newTally();
      all.push({ labels, tally: step.tally });
      return step.tally;
    },
  };
}

function addLabelNode<T>({ next }: LabelNode<T>, label: string): LabelNode<T> {
  const step: LabelNode<T> = { next: new Map() };
  next.set(label, step);
  return step;
}

/** LazyBoundSeries looks up its tally on first use. */
class LazyBoundSeries<L extends string> implements BoundSeries {
  readonly #series: Series<L, BoundSeries>;
  readonly #labels: Labels<L>;
  #tally: BoundSeries | undefined;

  constructor(series: Series<L, BoundSeries>, labels: Labels<L>) {
    this.#series = series;
    this.#labels = labels;
  }

  add(value: number): void {
    this.#tally ??= this.#series.at(this.#labels);
    this.#tally.add(value);
  }
}
