/**
 * Money when the gateway ends under load: killed, which `npm run test:crash` does at length, or asked to stop.
 */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Outcome } from "../../gen/modelgateway/v1/usage_pb.ts";
import { startGateway } from "../../src/composition/gateway.ts";
import { loadConfig } from "../../src/config/config.ts";
import { holdMs } from "../../src/ledger/contract.ts";
import { crash } from "../crash/crash.ts";
import { startLoad } from "../crash/load.ts";
import { type Stage, setStage } from "../crash/stage.ts";
import { mostOutput } from "../crash/upstream.ts";
import { heldFaults, reconcileFaults, verify } from "../crash/verify.ts";
import { environment } from "../support/environment.ts";
import { eventually } from "../support/eventually.ts";
import { createLedger } from "../support/money/ledger-by-ids.ts";

test("a gateway that is killed has charged every answer that arrived, once, and nothing else", async () => {
  const { faults, answers } = await crash({ kills: 5 });
  expect(faults).toEqual([]);
  expect(answers).toBeGreaterThan(0);
});

test.each([
  ["without accelerators", "off"],
  ["with leases, and no journal", "http1-server,http1-client,leases"],
])("a gateway that is killed has charged every answer that arrived, once, also %s", async (_, accelerators) => {
  const { faults, answers } = await crash({ kills: 4, accelerators });
  expect(faults).toEqual([]);
  expect(answers).toBeGreaterThan(0);
});

describe("a gateway", () => {
  let stage: Stage;

  beforeEach(async () => {
    stage = await setStage();
  });

  afterEach(() => stage.close());

  test("that starts frees at once what one that died has held beyond its deadline", async () => {
    const clock = () => Date.now() - holdMs;
    const dead = createLedger({ openBooks: stage.storage.openBooks(true), clock, onError: () => {} });
    const [{ id: keyId = "", account_id: accountId = "" } = {}] = await stage.storage.keys.list();
    const call = { requestId: "req_1", accountId, keyId, isLimited: false, operation: "chat", model: "over-chat" };
    await dead.hold({ ...call, max: 5, min: 5, now: clock() });
    await dead.close();
    expect(heldFaults(stage.engine)).not.toEqual([]);
    const { gateway, rootUrl } = await startHere();
    await fetch(`${rootUrl}/healthz`);
    expect(heldFaults(stage.engine)).toEqual([]);
    await gateway.close();
  });

  test("that is asked to stop finishes what runs, and has charged all of it when it ends", async () => {
    const { gateway, rootUrl } = await stage.start();
    let number = 1000;
    const load = startLoad({ rootUrl, apiKeys: stage.apiKeys, clients: 12, nextNumber: () => number++ });
    await load.answers(30);
    expect((await gateway.stop("SIGTERM")).code).toBe(0);
    await load.ended;
    const { faults, left, ...verdict } = verify(stage, load.calls);
    expect([...faults, ...heldFaults(stage.engine), ...(await reconcileFaults(stage))]).toEqual([]);
    expect(verdict).toMatchObject({ leftCharged: left, undelivered: 0, lost: 0 });
    expect(verdict.answers).toBeGreaterThanOrEqual(30);
  });

  test("that is killed leaves a response in the background to be told as failed, and its hold to lapse", async () => {
    stage.upstream.hang();
    const { gateway, rootUrl } = await stage.start();
    const headers = { authorization: `Bearer ${stage.apiKeys[0]}`, "content-type": "application/json" };
    const ask = async (root: string, path: string, body?: object) => {
      const init = body ? { method: "POST", body: JSON.stringify(body) } : {};
      const response = await fetch(root + path, { headers, ...init });
      return (await response.json()) as { id: string; status: string; error: { code: string } | null };
    };
    const asked = { model: "over-chat", input: "Say something long.", background: true, max_output_tokens: mostOutput };
    const { id } = await ask(rootUrl, "/v1/responses", asked);
    await stage.upstream.hanging(1);
    await eventually(async () => expect((await ask(rootUrl, `/v1/responses/${id}`)).status).toBe("in_progress"));
    await gateway.stop("SIGKILL");
    expect(heldFaults(stage.engine)).not.toEqual([]);
    const next = await startHere(() => Date.now() + holdMs + 1000);
    expect(await ask(next.rootUrl, `/v1/responses/${id}`)).toMatchObject({
      status: "failed",
      error: { code: "server_error" },
    });
    await next.gateway.close();
    expect([...heldFaults(stage.engine), ...(await reconcileFaults(stage))]).toEqual([]);
  });

  /** Starts a call, and resolves with what its client does not wait for. */
  async function begin(rootUrl: string, model: string, stream: boolean): Promise<() => Promise<unknown>> {
    const headers = { authorization: `Bearer ${stage.apiKeys[0]}`, "content-type": "application/json" };
    const sent = request(`${rootUrl}/v1/chat/completions`, { method: "POST", agent: false, headers });
    const ended = new Promise((resolve) => sent.once("close", resolve));
    const messages = [{ role: "user", content: "Say something long." }];
    sent.on("error", () => {}).end(JSON.stringify({ model, messages, stream, max_tokens: mostOutput }));
    if (!stream) return () => ended;
    const [res] = (await once(sent, "response")) as [IncomingMessage];
    res.on("error", () => {});
    await once(res, "data");
    return () => ended;
  }

  async function startHere(clock = Date.now) {
    const config = { ...loadConfig(stage.config, environment), port: 0, drainMs: 100 };
    const gateway = await startGateway({ config, storage: stage.storage, log: pino({ level: "silent" }), clock });
    return { gateway, rootUrl: `http://127.0.0.1:${gateway.port}` };
  }

  for (const model of ["over-chat", "over-messages"]) {
    test(`that is asked to stop has charged what it cuts in the end, too: a model ${model}`, async () => {
      stage.upstream.hang();
      const { gateway, rootUrl } = await startHere();
      const ended = await Promise.all(Array.from({ length: 20 }, (_, i) => begin(rootUrl, model, i % 2 === 0)));
      await stage.upstream.hanging(20);
      await gateway.close();
      const outcomes = stage.engine.prepare<[], Record<string, number>>(
        "SELECT outcome, cost > 0 AS charged, count(*) AS count FROM requests GROUP BY 1, 2 ORDER BY 2",
      );
      expect(outcomes.all()).toEqual([
        { outcome: Outcome.LEFT, charged: 0, count: 10 },
        { outcome: Outcome.LEFT, charged: 1, count: 10 },
      ]);
      expect([...heldFaults(stage.engine), ...(await reconcileFaults(stage))]).toEqual([]);
      await Promise.all(ended.map((end) => end()));
    });
  }
});
