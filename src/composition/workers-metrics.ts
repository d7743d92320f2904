/**
 * The metrics of all workers, read at one address: each worker is asked for its own, and they are merged. What workers that have ended have
 * counted stays in the sums.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { Registry } from "prom-client";
import type { Channel, Done } from "../runtime/ipc/channel.ts";
import { registerWorkers, type WorkerGauges } from "../telemetry/gauges/workers.ts";
import { growing, type MetricJson, mergeMetrics, metricsText } from "../telemetry/merge-metrics.ts";
import { processMetrics } from "../telemetry/process.ts";
import { type Scrape, serveMetrics } from "../telemetry/scrape.ts";

/** MetricsQuestions are asked by an owner, and answered by a worker. */
export type MetricsQuestions = {
  readonly "metrics.read": readonly [asked: null, metrics: readonly MetricJson[]];
};

/** LastMetrics is told by a worker to its owner. */
export type LastMetrics = {
  /** Tells at the end what the worker has counted. */
  readonly "metrics.last": readonly [metrics: readonly MetricJson[], answer: Done];
};

export interface WorkersMetricsOptions extends WorkerGauges {
  /** The bound socket on which they are read; null where nobody reads them. */
  readonly fd: number | null;
  readonly log: Pick<Logger, "error">;
}

export interface WorkersMetrics {
  /** Counts a worker in, as long as its channel is open. */
  add(channel: Channel): void;
  /** Begins to answer, unless it has. */
  listen(): Promise<void>;
  close(): Promise<void>;
}

/** readMs is how long a worker may take to tell, in milliseconds. One that takes longer counts as it was last. */
const readMs = 1_000;

export function createWorkersMetrics(options: WorkersMetricsOptions): WorkersMetrics {
  const own = new Registry();
  const last = new Map<Channel, readonly MetricJson[]>();
  let ended: MetricJson[] = [];
  let scrape: Promise<Scrape> | undefined;
  registerWorkers(own, options);

  async function readOne(channel: Channel): Promise<void> {
    const asked = channel.by<MetricsQuestions>().ask("metrics.read", null);
    const late = delay(readMs, undefined, { ref: false });
    const told = await Promise.race([asked.then(undefined, () => undefined), late]);
    if (told && last.has(channel)) last.set(channel, told);
  }

  async function read(): Promise<string> {
    await Promise.all([...last.keys()].map(readOne));
    const here = [await own.getMetricsAsJSON(), await processMetrics().getMetricsAsJSON()] as MetricJson[][];
    return metricsText(mergeMetrics([...last.values(), ...here, ended]));
  }

  return {
    add(channel) {
      last.set(channel, []);
      channel.answer<LastMetrics>({ "metrics.last": (told) => void (last.has(channel) && last.set(channel, told)) });
      void channel.closed.then(() => {
        ended = mergeMetrics([ended, growing(last.get(channel) ?? [])]);
        last.delete(channel);
      });
    },
    async listen() {
      const { fd, log } = options;
      if (fd === null) return;
      const onError = (err: unknown) => log.error({ err }, "metrics could not be read");
      // Workers that begin to serve at the same time each have it listen: a socket can be listened on once.
      scrape ??= serveMetrics({ host: "", port: 0, fd, read, contentType: own.contentType, onError });
      try {
        await scrape;
      } catch (error) {
        scrape = undefined;
        throw error;
      }
    },
    async close() {
      const listening = await scrape?.catch(() => undefined);
      await listening?.close();
    },
  };
}
