/** Counts, from a gateway's own metrics, how many calls share a statement to Postgres, and how many decisions a question to Redis. */
import type { Figures } from "../figures.ts";
import type { Target } from "../targets.ts";

type Metrics = ReadonlyMap<string, number>;

/** countsOf starts counting. The returned function returns what was counted since, of so many calls; nothing of other targets. */
export async function countsOf(target: Pick<Target, "metricsPort">): Promise<(calls: number) => Promise<Figures>> {
  const before = await readMetrics(target);
  return async (calls) => {
    const after = await readMetrics(target);
    return figuresOf((name) => (after.get(name) ?? Number.NaN) - (before.get(name) ?? 0), calls);
  };
}

/** figuresOf makes figures of what metrics grew by; a metric that there is not grew by NaN, and makes none. */
export function figuresOf(grown: (metric: string) => number, calls: number): Figures {
  const statements = grown('model_gateway_database_batches_total{kind="write"}');
  const seconds = grown('model_gateway_database_batch_seconds_total{kind="write"}');
  const [slice = 0, asked = 0] = ["slice", "asked"].map((by) =>
    grown(`model_gateway_redis_decisions_total{by="${by}"}`),
  );
  const figures = {
    "calls a statement": calls / statements,
    "ms a statement": (1000 * seconds) / statements,
    "decisions a round trip": (slice + asked) / grown("model_gateway_redis_round_trips_total"),
  };
  return Object.fromEntries(Object.entries(figures).filter(([, value]) => Number.isFinite(value)));
}

async function readMetrics({ metricsPort }: Pick<Target, "metricsPort">): Promise<Metrics> {
  if (metricsPort === undefined) return new Map();
  const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
  return metricsIn(await answer.text());
}

/** metricsIn returns the values of samples by their names with labels. */
export function metricsIn(text: string): Metrics {
  const samples = text.matchAll(/^([a-z_]+(?:\{[^}\n]*\})?) (\S+)$/gm);
  return new Map([...samples].map(([, name = "", value]) => [name, Number(value)]));
}
