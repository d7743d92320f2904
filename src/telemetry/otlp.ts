/**
 * Exports traces and measurements by OTLP over HTTP, in batches, without delaying calls.
 *
 * An endpoint that is down or hangs costs neither calls nor much memory: what it does not accept is dropped, with one
 * warning a minute, and closing waits for it at most two seconds. OpenTelemetry itself reads OTEL_SERVICE_NAME,
 * OTEL_RESOURCE_ATTRIBUTES and the certificates of OTEL_EXPORTER_OTLP_CERTIFICATE and its kin. Importing this file
 * loads OpenTelemetry's SDK.
 */
import { randomUUID } from "node:crypto";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Logger } from "pino";
import type { Observer } from "../pipeline/observe.ts";
import { addressesOf } from "./attributes.ts";
import { createMeasurements } from "./measurements.ts";
import { createTracing } from "./tracing.ts";

export interface OtlpOptions {
  /** endpoint is the base URL, without the paths of traces and metrics. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** version is the gateway's version. */
  readonly version: string;
  /** upstreams returns those in force; another list once they have changed. */
  readonly upstreams: () => readonly { readonly name: string; readonly base_url: string }[];
  readonly log: Logger;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

export interface Otlp {
  readonly observers: readonly Observer[];
  /** close exports what is left, and stops. */
  close(): Promise<void>;
}

/** timeoutMillis is the longest that the endpoint may take for a batch. */
const timeoutMillis = 2000;
const closeMs = 2000;
const warningEveryMs = 60_000;
const name = "model-gateway";

export function startOtlp({ endpoint, headers, version, upstreams, log, clock }: OtlpOptions): Otlp {
  const warn = warningNowAndThen(log, clock);
  const root = endpoint.replace(/\/+$/, "");
  const target = (path: string) => ({ url: `${root}/v1/${path}`, headers: { ...headers }, timeoutMillis });
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.name": name, "service.version": version }))
    .merge(resourceFromAttributes({ "service.instance.id": randomUUID() }))
    .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }));
  // The caller that began a trace decides whether it is sampled; new traces are. That is the provider's default.
  const traces = new TracerProvider({
    resource,
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reportingFailures(new OTLPTraceExporter(target("traces")), warn),
        maxQueueSize: 8192,
        maxExportBatchSize: 256,
      }),
    ],
  });
  const exporter = reportingFailures(new OTLPMetricExporter(target("metrics")), warn);
  const metrics = new MeterProvider({ resource, readers: [new PeriodicExportingMetricReader({ exporter })] });
  const addresses = addressesOf(upstreams);
  return {
    observers: [
      createTracing({ tracer: traces.getTracer(name, version), addresses, clock }),
      createMeasurements(metrics.getMeter(name, version), addresses),
    ],
    close: () => settledWithin(closeMs, [traces.shutdown(), metrics.shutdown()]),
  };
}

interface Exporter<I> {
  export(items: I, done: (result: { readonly code: number; readonly error?: Error }) => void): void;
}

/** reportingFailures reports every failure of the exporter: the SDK itself is silent. */
function reportingFailures<I, E extends Exporter<I>>(exporter: E & Exporter<I>, failed: (error?: Error) => void): E {
  const send = exporter.export.bind(exporter);
  exporter.export = (items, done) =>
    send(items, (result) => {
      if (result.code !== 0) failed(result.error);
      done(result);
    });
  return exporter;
}

function warningNowAndThen(log: Logger, clock: () => number): (error?: Error) => void {
  let quietUntil = Number.NEGATIVE_INFINITY;
  return (error) => {
    const at = clock();
    if (at < quietUntil) return;
    quietUntil = at + warningEveryMs;
    const { code = error?.message } = (error ?? {}) as { readonly code?: unknown };
    log.warn({ cause: code }, "traces or metrics could not be sent to the OTLP endpoint, and are dropped");
  };
}

/** settledWithin resolves when all promises have settled, or after `ms`. */
async function settledWithin(ms: number, endings: readonly Promise<unknown>[]): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([Promise.allSettled(endings), late]);
  clearTimeout(timer);
}
