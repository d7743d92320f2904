/** Registers what is known of the Redis over which rates are shared. It is read when metrics are collected. */
import type { Registry } from "prom-client";
import { registerCounter, registerCounters, registerGauge } from "./register.ts";

export interface RedisGauges {
  readonly isUp: () => boolean;
  /** nodes returns how many nodes share the rates, as last known. */
  readonly nodes: () => number;
  /** counts returns totals since the start. */
  readonly counts: () => {
    readonly roundTrips: number;
    readonly roundTripSeconds: number;
    readonly timeouts: number;
    readonly failures: number;
  };
  /** decisions returns totals of decisions, by how they were made. */
  readonly decisions: () => { readonly slice: number; readonly asked: number; readonly away: number };
}

export function registerRedis(registry: Registry, { isUp, nodes, counts, decisions }: RedisGauges): void {
  registerGauge(
    registry,
    { name: "model_gateway_redis_up", help: "Whether Redis answers; absent without Redis.", aggregator: "min" },
    (set) => set(Number(isUp())),
  );
  registerGauge(
    registry,
    { name: "model_gateway_redis_nodes", help: "Nodes that share rates over Redis, as last known.", aggregator: "max" },
    (set) => set(nodes()),
  );
  const counter = (name: string, help: string, read: () => number) =>
    registerCounter(registry, `model_gateway_redis_${name}_total`, help, read);
  counter(
    "round_trips",
    "Questions that Redis answered. One asks for all buckets of a moment.",
    () => counts().roundTrips,
  );
  counter(
    "round_trip_seconds",
    "Time until Redis answered, of all questions, in seconds.",
    () => counts().roundTripSeconds,
  );
  counter("timeouts", "Answers of Redis that did not come in time.", () => counts().timeouts);
  counter(
    "failures",
    "Connections to Redis that failed or were lost, and errors that it answered.",
    () => counts().failures,
  );
  const name = "model_gateway_redis_decisions_total";
  const help =
    "Decisions on rates: slice (from what this node has leased), asked (after a question to Redis), away (by this node's share).";
  registerCounters(registry, { name, help, label: "by" }, () => ({ ...decisions() }));
}
