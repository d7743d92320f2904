/** Registers what an owner knows of its workers. It is read when metrics are collected. */
import type { Registry } from "prom-client";
import { registerCounter, registerGauge } from "./register.ts";

export interface WorkerGauges {
  /** serving returns how many workers serve. */
  readonly serving: () => number;
  /** replaced returns how many workers died and were replaced. */
  readonly replaced: () => number;
}

export function registerWorkers(registry: Registry, { serving, replaced }: WorkerGauges): void {
  registerGauge(
    registry,
    { name: "model_gateway_workers", help: "Workers that serve; absent without workers." },
    (set) => set(serving()),
  );
  registerCounter(
    registry,
    "model_gateway_workers_replaced_total",
    "Workers that died and were replaced; absent without workers.",
    replaced,
  );
}
