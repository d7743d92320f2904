/**
 * The loads: which requests go to which targets, and what is measured. Each load is warmed up before it is measured,
 * and fails if any answer does.
 */
import { grpcLoad } from "./clients/grpc.ts";
import { atRate, firstChunks, inTurn } from "./clients/latency.ts";
import { readPaced } from "./clients/paced.ts";
import { wrk } from "./clients/wrk.ts";
import { cpuOf, type Figures, memoryOf, percentiles } from "./figures.ts";
import { chunksPerStream, models } from "./payloads.ts";
import { askedOf, chat, embeddings, messages, type Sent } from "./sent.ts";
import type { UpstreamPorts } from "./servers/gateway.ts";
import { percentile } from "./statistics.ts";
import type { Target, TargetName } from "./targets.ts";

export interface MeasureContext {
  /** seconds is how long a load is measured, and warmed up before. */
  readonly seconds: number;
  readonly warmSeconds: number;
  readonly folder: string;
  readonly upstreams: UpstreamPorts;
}

export interface Load {
  readonly name: string;
  readonly about: string;
  readonly targets: readonly TargetName[];
  /** kind groups loads that run the same code. */
  readonly kind: "whole" | "burst" | "paced" | "grpc";
  /**
   * slices is how often its targets take turns within a round. Each slice counts as a round: a host's speed changes
   * within half a second.
   */
  readonly slices: number;
  /** lasting is the factor by which the load is measured longer than others. */
  readonly lasting: number;
  /** sent is verified with every target before anything is measured. */
  readonly sent: Sent | undefined;
  measure(target: Target, context: MeasureContext): Promise<Figures>;
}

const proxies = ["nginx", "bare", "portkey", "gateway"] as const;
const all = ["direct", ...proxies] as const;
const streaming = { stream: true };

export const loads: readonly Load[] = [
  whole("chat-1k", "chat, request and answer of 1 kB", all, chat(1000)),
  whole("chat-20k", "chat, request of 20 kB", proxies, chat(20_000, models.long)),
  whole("chat-200k", "chat, request of 200 kB", proxies, chat(200_000, models.long)),
  whole("embeddings", "an answer of 1,536 floats", proxies, embeddings),
  whole("messages-1k", "Messages API on a chat upstream, 1 kB", ["gateway"], messages(models.chat)),
  whole("late-50", "an upstream that takes 50 ms, 1,000 connections", proxies, chat(1000, models.late), 1000),
  flat("flat", "streams of 300 chunks, as fast as they go", proxies, chat(1000, models.flat, streaming)),
  paced("paced-100", "100 streams of 50 chunks/s", all, { connections: 100, everyMs: 20 }),
  paced("paced-1000", "1,000 streams of 5 chunks/s", all, { connections: 1000, everyMs: 200 }),
  paced(
    "messages-paced",
    "the same as Messages API (bare is asked for chat), 100 streams",
    ["bare", "gateway"],
    { connections: 100, everyMs: 20 },
    true,
  ),
  oneConnection(),
  rate(),
  first(),
  grpc("grpc-unary", "gRPC, 32 calls at once", false),
  grpc("grpc-stream", "gRPC, 32 streams of 300 chunks at once", true),
];

/**
 * slicesOf returns 1 for a single target, and for a thousand connections, which take longer to open than a slice
 * lasts.
 */
function slicesOf(targets: Load["targets"], connections: number): number {
  return targets.length === 1 || connections > 100 ? 1 : 3;
}

function whole(name: string, about: string, targets: Load["targets"], sent: Sent, connections = 32): Load {
  return {
    ...{ name, about, kind: "whole", targets, sent, slices: slicesOf(targets, connections) },
    // A thousand connections are not open at once: opening them is a part of the time.
    lasting: connections > 100 ? 1.2 : 1,
    async measure(target, { seconds, warmSeconds, folder }) {
      const { path, body, upstream } = sent;
      const requests = [{ headers: target.headers(upstream), body }];
      const run = { port: target.ports[upstream], path, requests, connections, folder };
      await wrk({ ...run, seconds: warmSeconds });
      const cpu = cpuOf(target);
      const result = await wrk({ ...run, seconds });
      return {
        "requests/s": result.requests / result.seconds,
        ...cpu("CPU µs/request", result.requests),
        ...memoryOf(target),
      };
    },
  };
}

function flat(name: string, about: string, targets: Load["targets"], sent: Sent): Load {
  const load = whole(name, about, targets, sent);
  return {
    ...{ ...load, kind: "burst", slices: 1 },
    async measure(target, context) {
      const figures = await load.measure(target, context);
      const perStream = figures["CPU µs/request"];
      const chunks = { "chunks/s": (figures["requests/s"] as number) * chunksPerStream };
      return perStream === undefined ? chunks : { ...chunks, "CPU µs/chunk": perStream / chunksPerStream };
    },
  };
}

function paced(
  name: string,
  about: string,
  targets: Load["targets"],
  pace: { readonly connections: number; readonly everyMs: number },
  asMessages = false,
): Load {
  const model = models.paced(pace.everyMs);
  const asked = { chat: chat(1000, model, streaming), messages: messages(model, streaming) };
  return {
    ...{ name, about, kind: "paced", targets, sent: undefined, slices: 1 },
    // A target collects garbage after its streams every few seconds: a short piece has much of that or none.
    lasting: 2,
    async measure(target, { seconds, warmSeconds, upstreams }) {
      // No other target translates.
      const sent = asMessages && target.name === "gateway" ? asked.messages : asked.chat;
      let cpu = cpuOf(target);
      let spent: Figures = {};
      const delays = await readPaced({
        ...{ ...pace, ...askedOf(target, sent), seconds, warmSeconds, stub: upstreams.stub },
        onBegin: () => (cpu = cpuOf(target)),
        onEnd: () => (spent = cpu("CPU µs", 1)),
      });
      const micros = spent["CPU µs"];
      return {
        ...(micros === undefined ? {} : { "CPU µs/chunk": micros / delays.length }),
        ...percentiles(delays),
      };
    },
  };
}

function oneConnection(): Load {
  const sent = chat(1000);
  return {
    ...{ name: "one-connection", about: "one request after another, on one connection", targets: all, sent },
    ...{ kind: "whole", slices: slicesOf(all, 1), lasting: 1 },
    async measure(target, { seconds, warmSeconds }) {
      await inTurn(askedOf(target, sent), warmSeconds);
      return { "p50 ms": percentile(await inTurn(askedOf(target, sent), seconds), 0.5) };
    },
  };
}

function rate(): Load {
  const sent = chat(1000);
  return {
    ...{ name: "rate-500", about: "500 requests/s, whatever the answers take", targets: all, sent },
    ...{ kind: "whole", slices: 1, lasting: 1.5 },
    async measure(target, { seconds, warmSeconds }) {
      await atRate(askedOf(target, sent), 500, warmSeconds);
      return percentiles(await atRate(askedOf(target, sent), 500, seconds));
    },
  };
}

function first(): Load {
  // A stream written as fast as possible delays its first chunk until the upstream leaves the other core to its
  // reader.
  const sent = chat(1000, models.brief, streaming);
  return {
    ...{ name: "first-chunk", about: "how long a stream's first chunk is awaited", targets: all, sent },
    ...{ kind: "burst", slices: 1, lasting: 0.5 },
    async measure(target, { seconds, warmSeconds }) {
      await firstChunks(askedOf(target, sent), warmSeconds);
      return { "p50 ms": percentile(await firstChunks(askedOf(target, sent), seconds), 0.5) };
    },
  };
}

function grpc(name: string, about: string, streamed: boolean): Load {
  return {
    ...{ name, about, kind: "grpc", targets: ["connect-echo", "gateway"], sent: undefined, slices: 1 },
    lasting: 1,
    async measure(target, { seconds, warmSeconds }) {
      const model = streamed ? models.flat : models.chat;
      const port = target.ports.whole;
      const load = grpcLoad({ port, headers: target.headers("whole"), model, atOnce: 32 }, streamed);
      await load.run(warmSeconds);
      const cpu = cpuOf(target);
      const answered = await load.run(seconds);
      return streamed ? cpu("CPU µs/chunk", answered * chunksPerStream) : cpu("CPU µs/request", answered);
    },
  };
}
