/** What an installed gateway of several processes must do: serve, replace what dies, and be replaced and ended by signals. */
import { deepStrictEqual, ok, strictEqual } from "node:assert";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { processesOf } from "../support/workers/stage.ts";
import type { Way } from "./ways.ts";

const patienceMs = 60_000;
const count = 2;

/** Serves the data that a demo left by two workers. */
export async function worksInParallel(way: Way): Promise<void> {
  writeFileSync(join(way.data, "workers.yaml"), "embedded_models: true\n");
  const { api_key: key } = JSON.parse(readFileSync(join(way.data, "demo.json"), "utf8")) as { api_key: string };
  const config = `${way.inside}/workers.yaml`;
  const running = way.start(["serve", "--workers", String(count), "--config", config], {
    PORT: "0",
    LOG_LEVEL: "info",
  });
  const processes = () => processesOf(running.child.pid as number);
  try {
    const [, url = ""] = await running.shows(/serves at (\S+)/);
    await calls(url, key);
    const page = await fetch(`${url}/dashboard`);
    strictEqual(page.status, 200, "the dashboard");
    await replacesWorker(running.child.pid as number);
    await calls(url, key);
    const before = await processes();
    ok(before.owner, "an owner");
    process.kill(before.owner, "SIGKILL");
    await eventually(async () => {
      const now = await processes();
      ok(now.owner > 0 && now.owner !== before.owner, "another owner");
      deepStrictEqual(now.workers, before.workers, "the same workers");
    }, patienceMs);
    await calls(url, key);
    running.child.kill("SIGHUP");
    await eventually(async () => {
      const now = await processes();
      strictEqual(now.workers.length, count);
      ok(!now.workers.some((pid) => before.workers.includes(pid)), "other workers");
    }, patienceMs);
    await calls(url, key);
    const { code } = await running.stop("SIGTERM");
    strictEqual(code, 0, running.stderr);
  } finally {
    await running.stop("SIGKILL");
  }
}

async function replacesWorker(primary: number): Promise<void> {
  const [killed] = (await processesOf(primary)).workers;
  ok(killed, "a worker");
  process.kill(killed, "SIGKILL");
  await eventually(async () => {
    const { workers } = await processesOf(primary);
    ok(!workers.includes(killed) && workers.length === count, "another worker");
  }, patienceMs);
}

/** Makes calls until one is answered: on a busy machine some find no owner, and are told to come again. */
async function calls(url: string, key: string): Promise<void> {
  await eventually(async () => {
    const { status } = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "embedded-chat", max_tokens: 2, messages: [{ role: "user", content: "Hi" }] }),
    });
    strictEqual(status, 200, "a call");
  }, patienceMs);
}
