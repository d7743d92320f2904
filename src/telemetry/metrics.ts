/**
 * Counts every call that is over, for Prometheus: how it ended, how long it took, what it used and what that cost.
 *
 * No label has a value that a caller can invent: models go by the catalogue's id, and a name that is not in it by none; there
 * is no account, no key and no request in a label. So there are as many series as the configuration has names for.
 */
import { Gauge, type Registry } from "prom-client";
import type { CallRecord } from "../call/call-record.ts";
import { credentialKinds, Reason, reasonWord } from "../call/refusals.ts";
import type { EndedCall, Observer } from "../pipeline/observe.ts";
import { SlotSet } from "../runtime/slot-set.ts";
import { createAttemptMetrics } from "./attempt-metrics.ts";
import { countMoney, createMoneyPlaces, type MoneyPlaces } from "./money-metrics.ts";
import { durationSeconds, firstByteSeconds, ownSeconds, seconds } from "./quantities.ts";
import { createCounter, createHistogram, type Place } from "./series.ts";

export function createMetrics(registry: Registry): Observer {
  const { count, countRefusal } = createCounters(registry);
  const countAttempts = createAttemptMetrics(registry);
  const running = createRunning(registry);
  const failedCredentials = createCounter({
    registry,
    name: "model_gateway_failed_credentials_total",
    help: "Credentials that were wrong, by their kind, and whether their address was beyond its bound: then nothing else was told.",
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

/** Registers the series of calls. */
function registerCallSeries(registry: Registry) {
  const rpcs = createCounter({
    registry,
    name: "model_gateway_rpc_requests_total",
    help: "Calls of any RPC, over REST too, by the HTTP status that they ended with; 499 where the caller left.",
    labelNames: ["rpc", "status"],
  });
  const refusals = createCounter({
    registry,
    name: "model_gateway_refusals_total",
    help: "Calls of any RPC that were refused, or failed, by the reason of the contract.",
    labelNames: ["reason"],
  });
  // Prometheus does not count what a series begins with: the first error is to be seen, too.
  for (const word of Object.keys(Reason)) refusals.inc({ reason: word }, 0);
  const requests = createCounter({
    registry,
    name: "model_gateway_requests_total",
    help: "Calls of models that were sound, by operation, model (empty where none was found) and status.",
    labelNames: ["operation", "model", "status"],
  });
  const durations = createHistogram({
    registry,
    name: "model_gateway_request_duration_seconds",
    help: "How long calls of models took that were answered to their end.",
    labelNames: ["operation", "model", "form"],
    buckets: durationSeconds,
  });
  const firstBytes = createHistogram({
    registry,
    name: "model_gateway_first_byte_seconds",
    help: "How long callers of models waited for the first of their answer.",
    labelNames: ["operation", "model", "form"],
    buckets: firstByteSeconds,
  });
  const own = createHistogram({
    registry,
    name: "model_gateway_own_seconds",
    help: "How long the gateway itself took of that: without queues, upstreams and pauses between attempts.",
    labelNames: ["operation"],
    buckets: ownSeconds,
  });
  const replays = createCounter({
    registry,
    name: "model_gateway_replays_total",
    help: "Calls of models that were answered without an upstream: from the cache, or by what the same call was told before.",
    labelNames: ["kind"],
  });
  return { rpcs, refusals, requests, durations, firstBytes, own, replays };
}

interface Counters {
  readonly count: (call: EndedCall) => void;
  readonly countRefusal: (reason: Reason) => void;
}

function createCounters(registry: Registry): Counters {
  const series = registerCallSeries(registry);
  const alikeTo = createAlikeTo(series, createMoneyPlaces(registry));
  const countRefusal = (reason: Reason) => series.refusals.inc({ reason: reasonWord(reason) });
  const count = (call: EndedCall) => {
    const { record, refusal } = call;
    const alike = alikeTo(call);
    alike.rpcs.add(1);
    if (refusal) countRefusal(refusal.reason);
    if (record.operation === undefined) return;
    alike.requests.add(1);
    if (!refusal) alike.durations.add(seconds(call.endedAt - call.begunAt));
    if (record.firstByteMs !== undefined) alike.firstBytes.add(seconds(record.firstByteMs));
    if (record.ownMs !== undefined) alike.own.add(seconds(record.ownMs));
    if (record.replayed !== undefined) series.replays.inc({ kind: record.replayed });
    countMoney(record, alike);
  };
  return { count, countRefusal };
}

/** Returns a function that finds the series of a call with one lookup, among those of its model's calls. */
function createAlikeTo(
  { rpcs, requests, durations, firstBytes, own }: ReturnType<typeof registerCallSeries>,
  moneyPlaces: ReturnType<typeof createMoneyPlaces>,
): (call: EndedCall) => Alike {
  const byModel = new Map<string, Alike[]>();
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
    const alike = {
      ...{ rpc, status, operation, form },
      rpcs: rpcs.place({ rpc, status: String(status) }),
      requests: requests.place({ operation: labels.operation, model, status: String(status) }),
      durations: durations.place(labels),
      firstBytes: firstBytes.place(labels),
      own: own.place({ operation: labels.operation }),
      ...moneyPlaces(model),
    };
    if (known) known.push(alike);
    else byModel.set(model, [alike]);
    return alike;
  };
}

/** Calls that are counted alike, and where they are. */
interface Alike extends MoneyPlaces {
  readonly rpc: string;
  readonly status: number;
  readonly operation: string | undefined;
  readonly form: CallRecord["form"];
  readonly rpcs: Place;
  readonly requests: Place;
  readonly durations: Place;
  readonly firstBytes: Place;
  readonly own: Place;
}

/** Those that run are looked at when somebody asks how many there are. */
function createRunning(registry: Registry): SlotSet<CallRecord> {
  const running = new SlotSet<CallRecord>();
  const gauge = new Gauge({
    name: "model_gateway_requests_running",
    help: "Calls of models that are under way, whole or streamed.",
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
