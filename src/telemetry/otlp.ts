/**
 * Sends traces and measurements by OTLP over HTTP, in batches, beside the calls. An endpoint that is down or hangs costs
 * neither calls nor much memory: what it does not take is dropped, with one warning a minute, and closing waits for it two
 * seconds at most.
 *
 * OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES and the certificates of OTEL_EXPORTER_OTLP_CERTIFICATE and its kin are
 * OpenTelemetry's own to read. Whoever imports this loads its SDK.
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
  /** Without the paths of traces and metrics. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Of the gateway. */
  readonly version: string;
  readonly upstreams: readonly { readonly name: string; readonly base_url: string }[];
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

export interface Otlp {
  readonly observers: readonly Observer[];
  /** Sends what is left, and stops. */
  close(): Promise<void>;
}

/** How long the endpoint may take for one batch. */
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
  // A caller that began the trace says whether it is kept, and without one it is: that is the provider's own choice.
  const traces = new TracerProvider({
    resource,
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: telling(new OTLPTraceExporter(target("traces")), warn),
        maxQueueSize: 8192,
        maxExportBatchSize: 256,
      }),
    ],
  });
  const exporter = telling(new OTLPMetricExporter(target("metrics")), warn);
  const metrics = new MeterProvider({ resource, readers: [new PeriodicExportingMetricReader({ exporter })] });
  const addresses = addressesOf(upstreams);
  return {
    observers: [
      createTracing({ tracer: traces.getTracer(name, version), addresses, clock }),
      createMeasurements(metrics.getMeter(name, version), addresses),
    ],
    close: () => atMost(closeMs, [traces.shutdown(), metrics.shutdown()]),
  };
}

interface Exporter<I> {
  export(items: I, done: (result: { readonly code: number; readonly error?: Error }) => void): void;
}

/** Has every failure of the exporter told: the SDK itself is silent. */
function telling<I, E extends Exporter<I>>(exporter: E & Exporter<I>, failed: (error?: Error) => void): E {
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

/** Resolves when all are over, well or not, or the time is. */
async function atMost(ms: number, endings: readonly Promise<unknown>[]): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([Promise.allSettled(endings), late]);
  clearTimeout(timer);
}
