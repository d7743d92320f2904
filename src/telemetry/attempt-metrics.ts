/** Counts the attempts of ended calls: the results of each upstream, failovers and hedges. */
import type { Registry } from "prom-client";
import { Outcome } from "../../gen/modelgateway/v1/usage_pb.ts";
import type { AttemptRecord } from "../call/call-record.ts";
import { Reason } from "../call/refusals.ts";
import type { EndedCall } from "../pipeline/observe.ts";
import { firstByteSeconds, seconds, units } from "./quantities.ts";
import { type BoundSeries, createCounter, createHistogram } from "./series.ts";

/** createAttemptMetrics returns a function that counts the attempts of an ended model call. */
export function createAttemptMetrics(registry: Registry): (call: EndedCall) => void {
  const series = registerAttemptSeries(registry);
  const { hedges, lost } = series;
  const boundSeriesOf = createSeriesFinder(series);
  return (call) => {
    const { record } = call;
    const last = record.attempts.at(-1);
    let isFailedOver = false;
    for (const attempt of record.attempts) {
      const { upstream, modelId: model, firstByteMs } = attempt;
      const result = resultOf(attempt, call);
      const bound = boundSeriesOf(upstream, model, result);
      bound.attempts.add(1);
      if (firstByteMs !== undefined) bound.firstBytes.add(seconds(firstByteMs));
      if (attempt.failure !== undefined && !attempt.isOvertaken && attempt !== last) isFailedOver = true;
      if (attempt.isHedge) hedges.inc({ model, result: result === "ok" ? "won" : result });
      // The winning attempt's answer shows what this one may have cost.
      const cost = (record.cost ?? 0) + (record.waived ?? 0);
      if (attempt.isOvertaken && cost > 0) lost.inc({ model }, units(cost));
      // Adding 0 creates the series, so that Prometheus sees the first failover as an increase.
      if (attempt === last) bound.failovers.add(Number(isFailedOver));
    }
  };
}

/** registerAttemptSeries registers the series of attempts. */
function registerAttemptSeries(registry: Registry) {
  const attempts = createCounter({
    registry,
    name: "model_gateway_upstream_attempts_total",
    help:
      "Attempts at upstreams, by result: ok, failed (by the upstream's fault, or because its queue was full), " +
      "refused (the request was invalid), left (the caller disconnected, or its own time-out passed), " +
      "overtaken (another attempt was faster).",
    labelNames: ["upstream", "model", "result"],
  });
  const firstBytes = createHistogram({
    registry,
    name: "model_gateway_upstream_first_byte_seconds",
    help: "Time until the first byte of an upstream's answer; for unary answers, until the end.",
    labelNames: ["upstream", "model"],
    buckets: firstByteSeconds,
  });
  const failovers = createCounter({
    registry,
    name: "model_gateway_upstream_failovers_total",
    help: "Model calls that were retried after a failed attempt, at another target or the same.",
    labelNames: ["model"],
  });
  const hedges = createCounter({
    registry,
    name: "model_gateway_hedges_total",
    help: "Hedges: attempts made beside a slow one, by result.",
    labelNames: ["model", "result"],
  });
  const lost = createCounter({
    registry,
    name: "model_gateway_hedge_lost_units_total",
    help: "Estimated cost of attempts that a faster one overtook, in units. Callers are not charged for it.",
    labelNames: ["model"],
  });
  return { attempts, firstBytes, failovers, hedges, lost };
}

/** createSeriesFinder returns a function that finds the series of an attempt with one lookup by its model. */
function createSeriesFinder({ attempts, firstBytes, failovers }: ReturnType<typeof registerAttemptSeries>) {
  const byModel = new Map<string, AttemptSeries[]>();
  return (upstream: string, model: string, result: Result): AttemptSeries => {
    const known = byModel.get(model);
    if (known) for (const one of known) if (one.upstream === upstream && one.result === result) return one;
    const bound = {
      upstream,
      result,
      attempts: attempts.bind({ upstream, model, result }),
      firstBytes: firstBytes.bind({ upstream, model }),
      failovers: failovers.bind({ model }),
    };
    if (known) known.push(bound);
    else byModel.set(model, [bound]);
    return bound;
  };
}

/** AttemptSeries are the series of attempts with the same labels. */
interface AttemptSeries {
  readonly upstream: string;
  readonly result: Result;
  readonly attempts: BoundSeries;
  readonly firstBytes: BoundSeries;
  readonly failovers: BoundSeries;
}

type Result = "ok" | "failed" | "refused" | "left" | "overtaken";

function resultOf(
  { isOvertaken, failure, outcome, firstByteMs }: AttemptRecord,
  { record, refusal }: EndedCall,
): Result {
  if (isOvertaken) return "overtaken";
  if (outcome !== undefined) return outcome === Outcome.LEFT ? "left" : "refused";
  if (failure !== undefined) return "failed";
  const isLeft = refusal?.reason === Reason.CANCELLED;
  if (firstByteMs === undefined) return isLeft ? "left" : "refused";
  return isLeft && record.form === "stream" ? "left" : "ok";
}
