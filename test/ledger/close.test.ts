/**
 * Money when the gateway ends while it counts what calls used: closing waits for counts a while, and then charges what it
 * guesses. It leaves nothing for anybody to charge later.
 */
import { join } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { startGateway } from "../../src/composition/gateway.ts";
import { loadConfig } from "../../src/config/config.ts";
import { createSegments } from "../../src/storage/journal/segments.ts";
import { hear } from "../support/clients/hear.ts";
import { environment } from "../support/environment.ts";
import { openAccount, openBooks } from "../support/payer.ts";
import { timed } from "../support/run/running-time.ts";
import { type ScriptedExchange, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { newTestDatabase } from "../support/storage/test-database.ts";
import { scrape } from "../support/telemetry/scrape.ts";
import { paidModels } from "../support/upstreams/paid-models.ts";

/** Each takes the tokenizer half a second or more: all of them take far longer than closing waits. */
const calls = 40;
const long = "鑫".repeat(262_144);

test("a gateway that is asked to stop charges what it has no time to count", async () => {
  const database = await newTestDatabase();
  const upstream = await startScriptedUpstream();
  const storage = await database.open();
  // Time enough to read the answers that have come, and not to count them.
  const config = {
    ...loadConfig(undefined, environment),
    ...paidModels(upstream.baseUrl),
    port: 0,
    metrics: { host: "127.0.0.1", port: 0, isAsked: true },
    drainMs: 2_000,
    dataDir: database.dataDir,
  };
  const gateway = await startGateway({ config, storage, log: pino({ level: "silent" }) });
  const payer = await openAccount({ storage }, { recharge: 1_000_000_000_000 });
  upstream.script = answerAtLength;
  for (let i = 0; i < calls; i++) {
    const body = { model: "gpt", messages: [{ role: "user", content: "Go on." }], stream: i % 2 === 0 };
    hear(gateway, { path: "/v1/chat/completions", body, apiKey: payer.apiKey });
  }
  await expect.poll(() => upstream.received.length).toBe(calls);
  await expect.poll(() => upstream.openRequests).toBe(0);
  // All answers have been read: from here on the gateway only counts.
  const running = async () =>
    (await scrape(gateway.metricsPort)).value("model_gateway_upstream_running", { upstream: "openai" });
  await expect.poll(running).toBe(0);

  const [, { runningMs }] = await timed(() => gateway.close());
  expect(runningMs).toBeLessThan(13_000);
  const books = openBooks(database, storage);
  const { requests, holds, held, keyHeld } = await books.of(payer);
  expect(requests.map(({ cost }) => cost > 0)).toEqual(Array(calls).fill(true));
  expect({ holds, held, keyHeld }).toEqual({ holds: 0, held: 0, keyHeld: 0 });
  for (const notes of ["gateway.db.notes", "postgres.notes"]) {
    expect(createSegments(join(database.dataDir, notes), false).nodes()).toEqual([]);
  }
  expect((await storage.reconcile()).findings).toEqual([]);

  await storage.close();
  await upstream.close();
  await database.remove();
});

function answerAtLength(exchange: ScriptedExchange): void {
  const named = { id: "c", created: 1, model: "m" };
  const choice = { index: 0, finish_reason: "stop" };
  const said = { role: "assistant", content: long };
  if (JSON.parse(String(exchange.body)).stream)
    exchange.stream({ ...named, object: "chat.completion.chunk", choices: [{ ...choice, delta: said }] });
  else exchange.json(200, { ...named, object: "chat.completion", choices: [{ ...choice, message: said }] });
}
