/** Registers gauges and counters that are read when metrics are collected, and kept elsewhere. */
import { Counter, Gauge, type Registry } from "prom-client";
import type { Aggregator } from "../merge-metrics.ts";

/** registerCounter exports a number that is counted elsewhere and only grows. */
export function registerCounter(registry: Registry, name: string, help: string, read: () => number): void {
  const counter = new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      counter.reset();
      counter.inc(read());
    },
  });
}

/** registerCounters exports such numbers under one name, by the label that tells them apart. */
export function registerCounters(
  registry: Registry,
  names: { readonly name: string; readonly help: string; readonly label: string },
  read: () => Readonly<Record<string, number>>,
): void {
  const { name, help, label } = names;
  const counter = new Counter({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      counter.reset();
      for (const [value, count] of Object.entries(read())) counter.inc({ [label]: value }, count);
    },
  });
}

interface GaugeNames<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly L[];
  /** aggregator is how the values of several workers become one; default: their sum. */
  readonly aggregator?: Aggregator;
}

type Set<L extends string> = (value: number | undefined, labels?: Readonly<Record<L, string>>) => void;

/** registerGauge registers a gauge. `read` returns all its values, each time anew. */
export function registerGauge<L extends string = never>(
  registry: Registry,
  names: GaugeNames<L>,
  read: (set: Set<L>) => void,
): void {
  const gauge = new Gauge<L>({
    ...names,
    registers: [registry],
    collect() {
      gauge.reset();
      read((value, labels) => {
        if (value !== undefined) gauge.set(labels ?? {}, value);
      });
    },
  });
}
