/**
 * Notes when the machine itself does not keep up: this process comes late, or a server answers late without a proxy between, or a gateway
 * that nothing was done to does not answer at all. What takes longer than stated at such moments says nothing of the gateways.
 */
import { createClient } from "@redis/client";
import { serverAt } from "../support/storage/postgres.ts";
import type { FleetNode } from "./node.ts";
import type { Stage } from "./stage.ts";

export interface Stalls {
  /** Says that a node did not answer, or how long it took, in milliseconds. */
  answered(node: FleetNode, sentAt: number): void;
  close(): Promise<void>;
}

const lookMs = 50;
/** What comes later than this is late, in milliseconds. */
const lateMs = 250;

export async function watchStalls({ databaseUrl, redis, history, nodes }: Stage): Promise<Stalls> {
  const server = serverAt(databaseUrl);
  const session = await server.connect();
  const client = await createClient({ url: redis.url }).connect();
  const asks = [() => session.query("SELECT 1"), () => client.ping()];
  const note = (node: number, from: number) => history.add({ trouble: "stall", node, from, to: performance.now() });
  const noteAll = (from: number) => {
    for (const { number } of nodes) note(number, from);
  };
  let dueAt = performance.now() + lookMs;
  const isAsking = asks.map(() => false);
  const timer = setInterval(() => {
    if (performance.now() - dueAt > lateMs) noteAll(dueAt);
    dueAt = performance.now() + lookMs;
    for (const [i, ask] of asks.entries()) {
      if (isAsking[i]) continue;
      isAsking[i] = true;
      const sentAt = performance.now();
      const answered = () => {
        isAsking[i] = false;
        if (performance.now() - sentAt > lateMs) noteAll(sentAt);
      };
      void ask().then(answered, answered);
    }
  }, lookMs);
  return {
    answered(node, sentAt) {
      if (performance.now() - sentAt > lateMs && !node.isPaused()) note(node.number, sentAt);
    },
    async close() {
      clearInterval(timer);
      client.destroy();
      session.close();
      await server.pool.end();
    },
  };
}
