/** Metrics of several processes become those of one. */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";
import { growing, type MetricJson, mergeMetrics, metricsText } from "../../src/telemetry/merge-metrics.ts";

async function processWith(calls: number, up: number, queued: number): Promise<MetricJson[]> {
  const registry = new Registry();
  const registers = [registry];
  const counter = new Counter({ name: "calls_total", help: "Calls.", labelNames: ["model", "status"], registers });
  counter.inc({ model: "a", status: "200" }, calls);
  new Gauge({ name: "up", help: "Up.", registers, aggregator: "min" }).set(up);
  new Gauge({ name: "queued", help: "Queued.", registers }).set(queued);
  new Gauge({ name: "unknown", help: "No number.", registers }).set(Number.NaN);
  new Histogram({ name: "seconds", help: "Seconds.", registers, buckets: [1, 2] }).observe(calls);
  return JSON.parse(JSON.stringify(await registry.getMetricsAsJSON())) as MetricJson[];
}

test("counts and histograms are added, and gauges taken by their own way", async () => {
  const merged = mergeMetrics([await processWith(1, 1, 2), await processWith(2, 0, 3)]);
  const lines = (await metricsText(merged)).split("\n");
  expect(lines).toContain('calls_total{model="a",status="200"} 3');
  expect(lines).toContain("up 0");
  expect(lines).toContain("queued 5");
  expect(lines).toContain('seconds_bucket{le="1"} 1');
  expect(lines).toContain('seconds_bucket{le="2"} 2');
  expect(lines).toContain("seconds_count 2");
  expect(lines).toContain("seconds_sum 3");
});

test("what a process that has ended has counted stays, and what it had does not", async () => {
  const ended = growing(await processWith(5, 0, 9));
  const lines = (await metricsText(mergeMetrics([await processWith(1, 1, 2), ended]))).split("\n");
  expect(lines).toContain('calls_total{model="a",status="200"} 6');
  expect(lines).toContain("queued 2");
  expect(lines).toContain("up 1");
});
