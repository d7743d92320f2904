/**
 * Counters and histograms for what every call counts. prom-client's own write out a call's labels to find their series, each
 * time anew; these go from label to label, and who counts under the same labels again keeps the place that was found.
 * prom-client still writes them out: in its registry they look like its own.
 */
import type { Metric, Registry } from "prom-client";

interface MetricInit<L extends string> {
  readonly registry: Registry;
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
}

type Labels<L extends string> = Readonly<Record<L, string>>;

/** Where something is counted under the same labels. It is told of from the first time on that it is. */
export interface Place {
  /** Adds to a counter; has a histogram see a value. */
  add(value: number): void;
}

export interface Counter<L extends string> {
  inc(labels: Labels<L>, by?: number): void;
  /** For who counts there often: its labels are looked for once. */
  place(labels: Labels<L>): Place;
}

export function createCounter<L extends string>(init: MetricInit<L>): Counter<L> {
  const series = createSeries(init.labelNames, () => new Count());
  register(init, "counter", () => series.all().map(({ labels, tally: { value } }) => ({ labels, value })));
  return {
    inc: (labels, by = 1) => series.at(labels).add(by),
    place: (labels) => new FoundPlace(series, labels),
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
  place(labels: Labels<L>): Place;
}

/** `buckets` are the upper bounds, each above the one before. */
export function createHistogram<L extends string>(
  init: MetricInit<L> & { readonly buckets: readonly number[] },
): Histogram<L> {
  const { name, labelNames, buckets } = init;
  const series = createSeries(labelNames, () => new Spread(buckets));
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
    place: (labels) => new FoundPlace(series, labels),
  };
}

class Spread {
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
    // What is above the last bound is in the count alone.
    if (i < this.counts.length) (this.counts[i] as number)++;
  }
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

/** A step on the way from label to label; where the way ends it has a tally. */
interface Step<T> {
  readonly next: Map<string, Step<T>>;
  tally?: T;
}

interface Series<L extends string, T> {
  /** Returns the tally of these labels, which is new where there was none. */
  at(labels: Labels<L>): T;
  /** In the order in which they came to be. */
  all(): readonly { readonly labels: Labels<L>; readonly tally: T }[];
}

function createSeries<L extends string, T>(labelNames: readonly L[], newTally: () => T): Series<L, T> {
  const start: Step<T> = { next: new Map() };
  const all: { readonly labels: Labels<L>; readonly tally: T }[] = [];
  return {
    all: () => all,
    at(labels) {
      let step = start;
      for (const name of labelNames) step = step.next.get(labels[name]) ?? stepAfter(step, labels[name]);
      if (step.tally) return step.tally;
      step.tally = newTally();
      all.push({ labels, tally: step.tally });
      return step.tally;
    },
  };
}

function stepAfter<T>({ next }: Step<T>, label: string): Step<T> {
  const step: Step<T> = { next: new Map() };
  next.set(label, step);
  return step;
}

/** Looks for its tally when it is counted there for the first time. */
class FoundPlace<L extends string> implements Place {
  readonly #series: Series<L, Place>;
  readonly #labels: Labels<L>;
  #tally: Place | undefined;

  constructor(series: Series<L, Place>, labels: Labels<L>) {
    this.#series = series;
    this.#labels = labels;
  }

  add(value: number): void {
    this.#tally ??= this.#series.at(this.#labels);
    this.#tally.add(value);
  }
}
