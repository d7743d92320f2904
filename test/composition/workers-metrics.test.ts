/** The metrics of workers at the one address that their primary has bound. */
import net, { type BoundSocket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createWorkersMetrics, type WorkersMetrics } from "../../src/composition/workers-metrics.ts";

let socket: BoundSocket;
let url: string;
let metrics: WorkersMetrics;

const log = { error: (said: unknown) => expect.fail(JSON.stringify(said)) };

beforeEach(() => {
  socket = new net.BoundSocket({ host: "127.0.0.1", port: 0 });
  url = `http://127.0.0.1:${socket.address().port}/metrics`;
  metrics = createWorkersMetrics({ fd: socket.fd(), log, serving: () => 2, replaced: () => 0 });
});

afterEach(() => metrics.close());

test("are read once two workers that begin to serve at the same time have both had it listen", async () => {
  await Promise.all([metrics.listen(), metrics.listen()]);
  await metrics.listen();
  expect(await (await fetch(url)).text()).toContain("model_gateway_workers 2");
});

test("are left to another where one begins to listen and is closed in the same moment", async () => {
  const listening = metrics.listen();
  await metrics.close();
  await listening;
  await expect(fetch(url)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
});
