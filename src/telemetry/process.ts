/**
 * What Prometheus knows of any process: memory, processor, event loop, garbage. Under the names that it has everywhere.
 */
import { collectDefaultMetrics, Registry } from "prom-client";

/**
 * What is watched for them is watched until the process ends, so there is one registry of them, made when first asked for,
 * for all gateways in it.
 */
let registry: Registry | undefined;

export function processMetrics(): Registry {
  if (registry) return registry;
  registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of leftOut) registry.removeSingleMetric(name);
  return registry;
}

/** Of what Node does not document, and what is named against Prometheus's own rules. */
const leftOut = [
  "nodejs_active_handles",
  "nodejs_active_handles_total",
  "nodejs_active_requests",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];
