/** Registers Prometheus's standard metrics of a process: memory, CPU, event loop, garbage collection. */
import { collectDefaultMetrics, Registry } from "prom-client";

/**
 * registry is shared by all gateways of the process and created on first use: its observers run until the process
 * ends.
 */
let registry: Registry | undefined;

export function processMetrics(): Registry {
  if (registry) return registry;
  registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of leftOut) registry.removeSingleMetric(name);
  return registry;
}

/** leftOut are metrics that Node does not document, or whose names break Prometheus's own rules. */
const leftOut = [
  "nodejs_active_handles",
  "nodejs_active_handles_total",
  "nodejs_active_requests",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];
