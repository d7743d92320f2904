/** Asks all nodes again and again whether they are ready, and sends callers to those that are, as a load balancer does. */
import { Agent, request } from "node:http";
import type { FleetNode } from "./node.ts";
import type { Stalls } from "./stalls.ts";

/** Probe is what a node said of itself; status 0 where it said nothing. */
export interface Probe {
  readonly node: number;
  readonly at: number;
  readonly status: number;
}

export interface Balancer {
  readonly probes: readonly Probe[];
  /** Returns a node that was ready a moment ago; any where none was. `number` decides between several. */
  choose(number: number): FleetNode;
  /** Says that a node did not answer: it gets no calls until it is ready again. */
  failed(node: FleetNode): void;
  /** Resolves when all nodes have been ready at once. */
  allReady(): Promise<void>;
  close(): void;
}

const everyMs = 200;
const timeoutMs = 600;

export function startBalancer(nodes: readonly FleetNode[], stalls: Pick<Stalls, "answered">): Balancer {
  const probes: Probe[] = [];
  const ready = new Set<FleetNode>();
  const agent = new Agent({ keepAlive: true });
  const waiting: (() => void)[] = [];

  async function probe(node: FleetNode): Promise<void> {
    const at = performance.now();
    const status = await statusOf(`${node.rootUrl}/readyz`, agent);
    stalls.answered(node, at);
    probes.push({ node: node.number, at, status });
    if (status === 200) ready.add(node);
    else ready.delete(node);
    if (ready.size === nodes.length) for (const resolve of waiting.splice(0)) resolve();
  }

  const timers = nodes.map((node) => {
    let isAsking = false;
    return setInterval(() => {
      if (isAsking) return;
      isAsking = true;
      void probe(node).finally(() => {
        isAsking = false;
      });
    }, everyMs);
  });
  return {
    probes,
    choose(number) {
      const some = ready.size > 0 ? [...ready] : nodes;
      return some[number % some.length] as FleetNode;
    },
    failed: (node) => void ready.delete(node),
    allReady: () => new Promise((resolve) => waiting.push(resolve)),
    close() {
      for (const timer of timers) clearInterval(timer);
      agent.destroy();
    },
  };
}

/** Returns the status of an answer; 0 where there is none in time. */
export function statusOf(url: string, agent: Agent, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(url, { agent, headers, timeout: timeoutMs }, (res) => {
      res.resume();
      res.on("end", () => resolve(res.statusCode ?? 0));
      res.on("error", () => resolve(0));
    });
    sent.on("timeout", () => sent.destroy());
    sent.on("error", () => resolve(0));
    sent.end();
  });
}
