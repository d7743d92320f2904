/**
 * Plays an OpenTelemetry collector to the gateway, on a real socket: it takes traces and metrics by OTLP over HTTP, in JSON,
 * and shows them flat. A gateway has sent all of them when it is closed.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty where it has no parent. */
  readonly parentSpanId: string;
  readonly traceState: string | undefined;
  readonly name: string;
  readonly kind: "internal" | "server" | "client" | undefined;
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
  readonly attributes: Attributes;
  /** failure is what it is told to have failed of; undefined where it did not. */
  readonly failure: string | undefined;
}

export interface ReceivedPoint {
  readonly name: string;
  readonly unit: string;
  readonly attributes: Attributes;
  readonly count: number;
  readonly sum: number;
  readonly bounds: readonly number[];
}

export interface OtlpReceiver {
  readonly endpoint: string;
  /** Every request so far. */
  readonly received: readonly { readonly path: string; readonly headers: object; readonly body: string }[];
  /** In the order in which they began, and were made. */
  spans(): readonly ReceivedSpan[];
  /** The last that was said of each histogram. */
  points(): readonly ReceivedPoint[];
  resources(): readonly Attributes[];
  close(): Promise<void>;
}

/** `hangs` has it take every request and answer none. */
export async function startOtlpReceiver({ hangs = false } = {}): Promise<OtlpReceiver> {
  const received: { path: string; headers: object; body: string }[] = [];
  const server = createServer(async (req, res) => {
    const body = Buffer.concat(await req.toArray()).toString();
    received.push({ path: req.url ?? "", headers: req.headers, body });
    if (!hangs) res.setHeader("content-type", "application/json").end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const at = (path: string) => received.filter((request) => request.path === path).map(({ body }) => JSON.parse(body));
  const traces = () => at("/v1/traces").flatMap(({ resourceSpans }) => resourceSpans as RawResource[]);
  const metrics = () => at("/v1/metrics").flatMap(({ resourceMetrics }) => resourceMetrics as RawResource[]);
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    spans: () =>
      traces()
        .flatMap(({ scopeSpans = [] }) => scopeSpans.flatMap(({ spans }) => spans.map(spanOf)))
        .sort((a, b) => a.from - b.from || placeOf(a) - placeOf(b)),
    points: () =>
      metrics().flatMap(({ scopeMetrics = [] }) => scopeMetrics.flatMap(({ metrics: all }) => all.flatMap(pointsOf))),
    resources: () => [...traces(), ...metrics()].map(({ resource }) => attributesOf(resource.attributes)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type RawAttributes = readonly {
  readonly key: string;
  readonly value: Readonly<Record<string, string | number | boolean>>;
}[];

interface RawResource {
  readonly resource: { readonly attributes: RawAttributes };
  readonly scopeSpans?: readonly { readonly spans: readonly RawSpan[] }[];
  readonly scopeMetrics?: readonly { readonly metrics: readonly RawMetric[] }[];
}

interface RawSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: RawAttributes;
  readonly status: { readonly code: number; readonly message?: string };
}

interface RawMetric {
  readonly name: string;
  readonly unit: string;
  readonly histogram: {
    readonly dataPoints: readonly {
      readonly attributes: RawAttributes;
      readonly count: number;
      readonly sum: number;
      readonly explicitBounds: readonly number[];
    }[];
  };
}

const milliseconds = (nanoseconds: string) => Number(BigInt(nanoseconds) / 1_000_000n);

function spanOf(raw: RawSpan): ReceivedSpan {
  const { traceId, spanId, parentSpanId = "", traceState, name, kind, status } = raw;
  return {
    ...{ traceId, spanId, parentSpanId, traceState, name },
    kind: ([undefined, "internal", "server", "client"] as const)[kind],
    from: milliseconds(raw.startTimeUnixNano),
    to: milliseconds(raw.endTimeUnixNano),
    attributes: attributesOf(raw.attributes),
    failure: status.code === 2 ? (status.message ?? "") : undefined,
  };
}

/** A call comes before its attempts, and these by their number. */
const placeOf = ({ attributes }: ReceivedSpan) => Number(attributes["model_gateway.attempt"] ?? 0);

function pointsOf({ name, unit, histogram }: RawMetric): ReceivedPoint[] {
  return histogram.dataPoints.map(({ attributes, count, sum, explicitBounds }) => ({
    ...{ name, unit, count, sum },
    attributes: attributesOf(attributes),
    bounds: explicitBounds,
  }));
}

function attributesOf(raw: RawAttributes): Attributes {
  return Object.fromEntries(raw.map(({ key, value }) => [key, Object.values(value)[0] ?? ""]));
}
