/** What a gateway counts for its operators while a load runs: how many calls are in a batch, and how many decisions in a question. */
import type { Figures } from "../figures.ts";
import type { Target } from "../targets.ts";

/** countsOf starts counting. The returned function returns what was counted since; nothing where the target counts nothing of the kind. */
export async function countsOf(target: Pick<Target, "metricsPort">): Promise<() => Promise<Figures>> {
  const before = await readMetrics(target);
  return async () => {
    const after = await readMetrics(target);
    return figuresOf((name) => (after.get(name) ?? Number.NaN) - (before.get(name) ?? 0));
  };
}

/** figuresOf makes figures of what the metrics grew by; a metric that there is not grew by NaN. */
export function figuresOf(grown: (metric: string) => number): Figures {
  const of = (kind: string, what: string) => grown(`model_gateway_database_${what}_total{kind="${kind}"}`);
  const decisions = ["slice", "asked"].map((by) => grown(`model_gateway_redis_decisions_total{by="${by}"}`));
  const figures = {
    "records a statement": of("write", "batch_items") / of("write", "batches"),
    "ms a statement": (1000 * of("write", "batch_seconds")) / of("write", "batches"),
    "decisions a round trip": decisions.reduce((a, b) => a + b, 0) / grown("model_gateway_redis_round_trips_total"),
  };
  return Object.fromEntries(Object.entries(figures).filter(([, value]) => Number.isFinite(value)));
}

async function readMetrics({ metricsPort }: Pick<Target, "metricsPort">): Promise<ReadonlyMap<string, number>> {
  if (metricsPort === undefined) return new Map();
  const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
  return metricsIn(await answer.text());
}

/** metricsIn returns the values of samples by their names with labels. */
export function metricsIn(text: string): ReadonlyMap<string, number> {
  return new Map(
    [...text.matchAll(/^([a-z_]+(?:\{[^}\n]*\})?) (\S+)$/gm)].map(([, name = "", value]) => [name, Number(value)]),
  );
}
