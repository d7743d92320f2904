/**
 * Counts every ended call for Prometheus: its result, duration, usage and cost.
 *
 * Metric labels come from the configuration only, never from accounts, keys or requests: models are named by the
 * catalogue's id, unknown ones by none. So the number of series is bounded by the configuration.
 */
import { Gauge, type Registry } from "prom-client";
import type { CallRecord } from "../call/call-record.ts";
import { credentialKinds, Reason, reasonWord } from "../call/refusals.ts";
import type { EndedCall, Observer } from "../pipeline/observe.ts";
import { SlotSet } from "../runtime/slot-set.ts";
import { createAttemptMetrics } from "./attempt-metrics.ts";
import { countMoney, createMoneySeries, type MoneySeries } from "./money-metrics.ts";
import { durationSeconds, firstByteSeconds, ownSeconds, seconds } from "./quantities.ts";
import { type BoundSeries, createCounter, createHistogram } from "./series.ts";

export function createMetrics(registry: Registry): Observer {
  const { count, countRefusal } = createCounters(registry);
  const countAttempts = createAttemptMetrics(registry);
  const running = createRunning(registry);
  const failedCredentials = createCounter({
    registry,
    name: "model_gateway_failed_credentials_total",
    help: "Invalid credentials, by kind, and whether their address had exceeded its limit: then it was refused for that alone.",
    labelNames: ["kind", "throttled"],
  });
  for (const kind of credentialKinds)
    for (const throttled of ["false", "true"]) failedCredentials.inc({ kind, throttled }, 0);
  return {
    failedCredential: ({ kind, isThrottled }) => failedCredentials.inc({ kind, throttled: `${isThrottled}` }),
    began: ({ record }) => running.add(record),
    broke: (_, { reason }) => countRefusal(reason),
    ended(call) {
      running.delete(call.record);
      count(call);
      if (call.record.operation !== undefined) countAttempts(call);
    },
  };
}

/** registerCallSeries registers the series of calls. */
function registerCallSeries(registry: Registry) {
  const rpcs = createCounter({
    registry,
    name: "model_gateway_rpc_requests_total",
    help: "Calls of any RPC, over REST too, by their final HTTP status; 499 if the caller disconnected.",
    labelNames: ["rpc", "status"],
  });
  const refusals = createCounter({
    registry,
    name: "model_gateway_refusals_total",
    help: "Refused and failed calls of any RPC, by the Reason of the API.",
    labelNames: ["reason"],
  });
  // Adding 0 creates the series, so that Prometheus sees the first error as an increase.
  for (const word of Object.keys(Reason)) refusals.inc({ reason: word }, 0);
  const requests = createCounter({
    registry,
    name: "model_gateway_requests_total",
    help: "Valid model calls, by operation, model (empty if unknown) and status.",
    labelNames: ["operation", "model", "status"],
  });
  const durations = createHistogram({
    registry,
    name: "model_gateway_request_duration_seconds",
    help: "Duration of model calls that were answered completely.",
    labelNames: ["operation", "model", "form"],
    buckets: durationSeconds,
  });
  const firstBytes = createHistogram({
    registry,
    name: "model_gateway_first_byte_seconds",
    help: "Time to the first byte of the answers to model calls.",
    labelNames: ["operation", "model", "form"],
    buckets: firstByteSeconds,
  });
  const own = createHistogram({
    registry,
    name: "model_gateway_own_seconds",
    help: "The gateway's own share of that time, without queues, upstreams and pauses between attempts.",
    labelNames: ["operation"],
    buckets: ownSeconds,
  });
  const replays = createCounter({
    registry,
    name: "model_gateway_replays_total",
    help: "Model calls answered without an upstream: from the cache, or with the answer of an earlier call (Idempotency-Key).",
    labelNames: ["kind"],
  });
  return { rpcs, refusals, requests, durations, firstBytes, own, replays };
}

interface Counters {
  readonly count: (call: EndedCall) => void;
  readonly countRefusal: (reason: Reason) => void;
}

function createCounters(registry: Registry): Counters {
  const all = registerCallSeries(registry);
  const seriesOf = createSeriesFinder(all, createMoneySeries(registry));
  const countRefusal = (reason: Reason) => all.refusals.inc({ reason: reasonWord(reason) });
  const count = (call: EndedCall) => {
    const { record, refusal } = call;
    const series = seriesOf(call);
    series.rpcs.add(1);
    if (refusal) countRefusal(refusal.reason);
    if (record.operation === undefined) return;
    series.requests.add(1);
    if (!refusal) series.durations.add(seconds(call.endedAt - call.begunAt));
    if (record.firstByteMs !== undefined) series.firstBytes.add(seconds(record.firstByteMs));
    if (record.ownMs !== undefined) series.own.add(seconds(record.ownMs));
    if (record.replayed !== undefined) all.replays.inc({ kind: record.replayed });
    countMoney(record, series);
  };
  return { count, countRefusal };
}

/** createSeriesFinder returns a function that finds the series of a call with one lookup by its model. */
function createSeriesFinder(
  { rpcs, requests, durations, firstBytes, own }: ReturnType<typeof registerCallSeries>,
  moneySeries: ReturnType<typeof createMoneySeries>,
): (call: EndedCall) => CallSeries {
  const byModel = new Map<string, CallSeries[]>();
  return ({ arrival, record, refusal }) => {
    const { operation, model = "", form } = record;
    const rpc = arrival.method.name;
    const status = refusal?.status ?? 200;
    const known = byModel.get(model);
    if (known) {
      for (const one of known)
        if (one.rpc === rpc && one.status === status && one.operation === operation && one.form === form) return one;
    }
    const labels = { operation: operation ?? "", model, form: form ?? "" };
    const series = {
      rpc,
      status,
      operation,
      form,
      rpcs: rpcs.bind({ rpc, status: String(status) }),
      requests: requests.bind({ operation: labels.operation, model, status: String(status) }),
      durations: durations.bind(labels),
      firstBytes: firstBytes.bind(labels),
      own: own.bind({ operation: labels.operation }),
      ...moneySeries(model),
    };
    if (known) known.push(series);
    else byModel.set(model, [series]);
    return series;
  };
}

/** CallSeries are the series of calls with the same labels. */
interface CallSeries extends MoneySeries {
  readonly rpc: string;
  readonly status: number;
  readonly operation: string | undefined;
  readonly form: CallRecord["form"];
  readonly rpcs: BoundSeries;
  readonly requests: BoundSeries;
  readonly durations: BoundSeries;
  readonly firstBytes: BoundSeries;
  readonly own: BoundSeries;
}

/** createRunning counts running calls only when metrics are collected. */
function createRunning(registry: Registry): SlotSet<CallRecord> {
  const running = new SlotSet<CallRecord>();
  const gauge = new Gauge({
    name: "model_gateway_requests_running",
    help: "Running model calls, by form: whole (unary) or stream.",
    labelNames: ["form"],
    registers: [registry],
    collect() {
      const counts = { whole: 0, stream: 0 };
      for (const { form } of running.all()) if (form !== undefined) counts[form]++;
      for (const [form, count] of Object.entries(counts)) gauge.set({ form }, count);
    },
  });
  return running;
}
