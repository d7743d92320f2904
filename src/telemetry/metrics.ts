/**
 * Counts every call that is over, for Prometheus: how it ended, how long it took, what it used and what that cost.
 *
 * No label has a value that a caller can invent: models go by the catalogue's id, and a name that is not in it by none; there
 * is no account, no key and no request in a label. So there are as many series as the configuration has names for.
 */
import { Gauge, type Registry } from "prom-client";
import { Reason, reasonWord } from "../errors.ts";
import type { Facts } from "../facts.ts";
import type { Ended, Observer } from "../pipeline/observe.ts";
import { Present } from "../present.ts";
import { createAttemptMetrics } from "./attempt-metrics.ts";
import { durationSeconds, firstByteSeconds, ownSeconds, seconds, units } from "./quantities.ts";
import { createCounter, createHistogram } from "./series.ts";

export function createMetrics(registry: Registry): Observer {
  const count = createCounters(registry);
  const countAttempts = createAttemptMetrics(registry);
  const running = createRunning(registry);
  return {
    began: ({ facts }) => running.add(facts),
    ended(call) {
      running.delete(call.facts);
      count(call);
      if (call.facts.operation !== undefined) countAttempts(call);
    },
  };
}

function createCounters(registry: Registry): (call: Ended) => void {
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
  const countMoney = createMoneyCounters(registry);

  return ({ arrival, facts, begunAt, endedAt, refusal }) => {
    const status = String(refusal?.status ?? 200);
    rpcs.inc({ rpc: arrival.method.name, status });
    if (refusal) refusals.inc({ reason: reasonWord(refusal.reason) });
    const { operation, model = "", form = "" } = facts;
    if (operation === undefined) return;
    requests.inc({ operation, model, status });
    if (!refusal) durations.observe({ operation, model, form }, seconds(endedAt - begunAt));
    if (facts.firstByteMs !== undefined) firstBytes.observe({ operation, model, form }, seconds(facts.firstByteMs));
    if (facts.ownMs !== undefined) own.observe({ operation }, seconds(facts.ownMs));
    if (facts.replayed !== undefined) replays.inc({ kind: facts.replayed });
    countMoney(facts);
  };
}

function createMoneyCounters(registry: Registry): (facts: Facts) => void {
  const tokens = createCounter({
    registry,
    name: "model_gateway_tokens_total",
    help: "Tokens that calls used, and characters that were spoken. Those of reasoning are among those of the output.",
    labelNames: ["model", "kind"],
  });
  const cost = createCounter({
    registry,
    name: "model_gateway_cost_units_total",
    help: "What was charged for calls, in units.",
    labelNames: ["model"],
  });
  const waived = createCounter({
    registry,
    name: "model_gateway_waived_units_total",
    help: "What calls should have cost beyond what was left to charge, in units.",
    labelNames: ["model"],
  });
  return ({ model = "", used, cost: charged, waived: lost = 0 }) => {
    if (used) {
      const { input, cacheRead, cacheWrite, cacheWriteHour, output, reasoning, characters } = used;
      if (input > 0) tokens.inc({ model, kind: "input" }, input);
      if (cacheRead > 0) tokens.inc({ model, kind: "cache_read" }, cacheRead);
      if (cacheWrite + cacheWriteHour > 0) tokens.inc({ model, kind: "cache_write" }, cacheWrite + cacheWriteHour);
      if (output > 0) tokens.inc({ model, kind: "output" }, output);
      if (reasoning > 0) tokens.inc({ model, kind: "reasoning" }, reasoning);
      if (characters > 0) tokens.inc({ model, kind: "characters" }, characters);
    }
    // What begins at nothing is seen to rise: Prometheus does not count what a series begins with.
    if (charged === undefined) return;
    cost.inc({ model }, units(charged));
    waived.inc({ model }, units(lost));
  };
}

/** Those that run are looked at when somebody asks how many there are. */
function createRunning(registry: Registry): Present<Facts> {
  const running = new Present<Facts>();
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
