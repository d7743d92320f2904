/** Writes docs/metrics.md, the list of all metrics, from what the gateway registers. */
import { Registry } from "prom-client";
import { registerWorkers } from "../../src/telemetry/gauges/workers.ts";
import { type GaugeParts, registerGauges } from "../../src/telemetry/gauges.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { table } from "./markdown.ts";

/** Nothing runs: only names, labels and meanings are read. */
const idle: GaugeParts = {
  version: "",
  configurationVersion: () => 0,
  upstreams: () => [],
  targets: () => [],
  holds: async () => ({ count: 0, amount: 0 }),
  open: () => ({ undecided: 0, websocket: 0, http1: 0, http2: 0, streams: 0, stalled: 0, shed: 0, floods: 0 }),
  bodyBytes: () => 0,
  storage: { isWritable: () => true, journalRejects: () => 0 },
  database: {
    ...{ isUp: () => true, nodes: () => 1, kept: () => 0, repeats: () => 0, recalls: () => 0 },
    batches: () => ({ decide: { batches: 0, items: 0, seconds: 0 }, write: { batches: 0, items: 0, seconds: 0 } }),
    replica: { trouble: () => undefined, lagSeconds: () => 0, reads: () => ({ replica: 0, primary: 0 }) },
  },
  redis: {
    isUp: () => true,
    nodes: () => 1,
    counts: () => ({ roundTrips: 0, roundTripSeconds: 0, timeouts: 0, failures: 0 }),
    decisions: () => ({ slice: 0, asked: 0, away: 0 }),
  },
  cache: () => undefined,
};

interface Metric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

const head = `# Metrics

Every metric of the gateway itself, at \`GET /metrics\` of [port 9464](operating.md#metrics). Made from what it registers.
[Watching](../deploy/README.md) has alerts and a Grafana dashboard of them. All pages: [documentation](../README.md#documentation).

Labels come from the configuration and the contract only: they never hold an account, a key or anything from a request.
A histogram has \`_bucket\`, \`_sum\` and \`_count\`. Amounts are in the [unit of money](configuration.md#unit).

`;

const tail = `
The metrics of the process (\`process_…\`, \`nodejs_…\`) are those that Prometheus knows of every program of Node: memory, processor time,
event loop, garbage collection.
`;

export async function metricsPage(): Promise<string> {
  const rows = (await readMetrics()).map(({ name, type, labels, help }) => {
    const names = labels.map((label) => `\`${label}\``).join(", ");
    return [`\`${name}\``, type, names, help];
  });
  return `${head}${table(["metric", "kind", "labels", "meaning"], rows)}\n${tail}`;
}

async function readMetrics(): Promise<Metric[]> {
  const registry = new Registry();
  createMetrics(registry);
  registerGauges(registry, idle);
  registerWorkers(registry, { serving: () => 0, replaced: () => 0 });
  const labels = new Map(
    registry.getMetricsAsArray().map((metric) => {
      const { labelNames = [] } = metric as { readonly labelNames?: readonly string[] };
      return [metric.name, labelNames];
    }),
  );
  const registered = await registry.getMetricsAsJSON();
  return registered
    .map(({ name, type, help }) => ({ name, type: String(type), help, labels: labels.get(name) ?? [] }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
