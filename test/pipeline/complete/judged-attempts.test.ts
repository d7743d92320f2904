/**
 * Each attempt is judged by how it ended itself. What the caller brought about, by a time-out of its own or by a request that the upstream
 * rejects, before its answer or amid a stream, is no failure of the upstream: not in the books, nor in what is measured.
 */
import { afterEach, describe, expect, test } from "vitest";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Config } from "../../../src/config/config.ts";
import { askRpc, bearer } from "../../support/dashboard/session.ts";
import { eventually } from "../../support/eventually.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { scrape } from "../../support/telemetry/scrape.ts";
import { answerWell, at, chunk, openStage, type Stage, served, told } from "../../support/upstreams/two-upstreams.ts";
import { openaiFrames } from "../../support/vendors.ts";

let stage: Stage;

afterEach(() => stage.close());

const both = [at("first", 0), at("second", 1)];

async function open(config: Partial<Config> = {}, targets = both, upstream = {}): Promise<void> {
  stage = await openStage(
    [served(targets)],
    { retries: { attempts: 1, share: 0 }, ...config },
    { admin: true },
    upstream,
  );
}

/** measured returns how many attempts each upstream had, and how many of them failed. */
async function measured(): Promise<Record<string, readonly [attempts: number, failures: number]>> {
  const day = 86_400_000;
  const now = Date.UTC(2026, 0, 2);
  const filter = { from: now - day, to: now + day, bucketMs: day, upstream: undefined, model: undefined };
  const limits = { calls: 1000, groups: 10 };
  const { groups } = await stage.gateway.storage.requests.measureAttempts({ ...filter, groupBy: "upstream" }, limits);
  return Object.fromEntries(groups.map(({ group, attempts, failures }) => [group, [attempts, failures]]));
}

async function latest() {
  const row = await stage.latest();
  return { ...row, tried: JSON.parse(row?.tried ?? "[]") as unknown };
}

async function counted(upstream: string, result: string): Promise<number> {
  const { value } = await scrape(stage.gateway.metricsPort);
  return value("model_gateway_upstream_attempts_total", { upstream, model: "m", result }) ?? 0;
}

describe("a time-out of the caller's own", () => {
  test.each([
    ["for the first byte, of a whole answer", "first_byte=0.2", false],
    ["for the first byte, of a stream", "first_byte=0.2", true],
    ["in total, of a whole answer", "0.2", false],
    ["in total, of a stream", "total=0.2", true],
  ])("%s: the caller left, and the upstream did not fail", async (_, timeout, stream) => {
    await open({}, [at("first")]);
    stage.first.script = undefined;
    expect((await stage.ask({ stream }, { "x-gateway-timeout": timeout })).status).toBe(504);
    expect(await latest()).toMatchObject({ outcome: Outcome.LEFT, upstream: "first", cost: 0, tried: [] });
    expect(await measured()).toEqual({ first: [1, 0] });
    expect([await counted("first", "left"), await counted("first", "failed")]).toEqual([1, 0]);
    const account = () => stage.gateway.storage.accounts.find(stage.gateway.accountId);
    // Other engines free a hold behind the answer.
    await eventually(async () => expect(await account()).toMatchObject({ held: 0 }));
  });

  test("before another target answered is told so", async () => {
    await open({ retries: { attempts: 2, share: 0 } });
    stage.first.script = undefined;
    const response = await stage.ask({}, { "x-gateway-timeout": "first_byte=0.2" });
    expect(told(response)).toEqual([200, "second", "2"]);
    const tried = [{ upstream: "first", failure: "no answer in 0.2 s", outcome: Outcome.LEFT }];
    expect(await latest()).toMatchObject({ outcome: Outcome.ANSWERED, upstream: "second", tried });
    expect(await measured()).toEqual({ first: [1, 0], second: [1, 0] });
    const { json } = await askRpc(stage.gateway, "UsageService.ListRequests", {}, bearer(stage.gateway.apiKey));
    expect(json.requests).toMatchObject([{ tried: [{ upstream: "first", outcome: "OUTCOME_LEFT" }] }]);
  });

  test("after another target failed leaves that one its failure", async () => {
    await open({ retries: { attempts: 2, share: 0 } });
    stage.first.script = (exchange) => exchange.json(500, {});
    stage.second.script = undefined;
    expect((await stage.ask({}, { "x-gateway-timeout": "1" })).status).toBe(504);
    const tried = [{ upstream: "first", failure: "it answered with status 500" }];
    expect(await latest()).toMatchObject({ outcome: Outcome.LEFT, upstream: "second", cost: 0, tried });
    expect(await measured()).toEqual({ first: [1, 1], second: [1, 0] });
  });

  test("charges the prompts of several that were answered before it", async () => {
    await open({}, [at("first")]);
    stage.first.script = (exchange) => (exchange.body.includes("silence") ? undefined : answerWell(exchange));
    const body = { messages: undefined, prompt: ["Hello", "silence"], max_tokens: 9 };
    expect((await stage.ask(body, { "x-gateway-timeout": "1" }, "/completions")).status).toBe(504);
    expect(await latest()).toMatchObject({ outcome: Outcome.LEFT, cost: 15, input: 9, output: 3 });
    expect(await measured()).toEqual({ first: [1, 0] });
  });

  test("in the queue of an upstream is no failure either", async () => {
    await open({}, [at("first")], { queue: { max_concurrent: 1, max_queued: 10, max_wait_seconds: 60 } });
    stage.first.script = undefined;
    const running = stage.ask();
    const slow = await stage.first.next();
    expect((await stage.ask({}, { "x-gateway-timeout": "0.2" })).status).toBe(503);
    expect(await latest()).toMatchObject({ outcome: Outcome.LEFT, cost: 0 });
    answerWell(slow);
    expect((await running).status).toBe(200);
    expect(await measured()).toEqual({ first: [2, 0] });
  });

  test("is told apart from one of the upstream's configuration", async () => {
    await open({}, [at("first")], { timeouts: { first_byte_seconds: 0.2 } });
    stage.first.script = undefined;
    expect((await stage.ask({}, { "x-gateway-timeout": "60" })).status).toBe(504);
    expect(await latest()).toMatchObject({ outcome: Outcome.FAILED });
    expect(await measured()).toEqual({ first: [1, 1] });
  });
});

const refusal = {
  error: { message: "The request was filtered.", type: "invalid_request_error", code: "content_filter" },
};
const fault = { error: { message: "It broke.", type: "server_error", code: 500 } };

describe("an error amid a stream", () => {
  test.each([
    ["that rejects the request is no failure of the upstream", refusal, Outcome.REJECTED, 0, "refused"],
    ["of the upstream's own is its failure", fault, Outcome.BROKEN, 1, "failed"],
  ] as const)("%s, and what came is charged", async (_, error, outcome, failures, result) => {
    await open({}, [at("first")]);
    stage.first.script = (exchange) => {
      exchange.head(200, eventStream);
      const usage = { prompt_tokens: 700, completion_tokens: 40, total_tokens: 740 };
      return exchange.end(openaiFrames(chunk({ role: "assistant", content: "Hel" }), { ...chunk({}), usage }, error));
    };
    const response = await stage.ask({ stream: true });
    expect(await response.text()).toContain(error.error.message);
    expect(await latest()).toMatchObject({ outcome, cost: 780, input: 700, output: 40 });
    expect(await measured()).toEqual({ first: [1, failures] });
    expect(await counted("first", result)).toBe(1);
  });

  test("that rejects the request without any usage charges what was counted", async () => {
    await open({}, [at("first")]);
    stage.first.script = (exchange) => {
      exchange.head(200, eventStream);
      return exchange.end(openaiFrames(chunk({ role: "assistant", content: "Hello there" }), refusal));
    };
    await (await stage.ask({ stream: true })).text();
    const row = await latest();
    expect(row).toMatchObject({ outcome: Outcome.REJECTED, estimated: 1 });
    expect([row.input, row.output].every((count) => (count ?? 0) > 0)).toBe(true);
    expect(row.cost).toBe((row.input ?? 0) + 2 * (row.output ?? 0));
  });
});

describe("of two hedged attempts", () => {
  const hedging = { afterMs: 150, share: 1 };

  /** secondHasEnded resolves when the hedge has been made and has ended. */
  async function secondHasEnded(): Promise<void> {
    while (stage.second.received.length === 0) await new Promise(setImmediate);
    await eventually(async () => {
      const { value } = await scrape(stage.gateway.metricsPort);
      expect(value("model_gateway_upstream_running", { upstream: "second" })).toBe(0);
    });
  }

  /** Has both fail, the first one only when the second has failed. */
  async function failBoth(first: number, second: number): Promise<Response> {
    await open({ hedging, retries: { attempts: 2, share: 0 } });
    stage.first.script = undefined;
    stage.second.script = (exchange) => exchange.json(second, refusal);
    const asking = stage.ask();
    const slow = await stage.first.next();
    await secondHasEnded();
    slow.json(first, refusal);
    return asking;
  }

  test("the first rejects the request, whatever the second failed by", async () => {
    expect(told(await failBoth(400, 500))).toEqual([400, "first", "2"]);
    const tried = [{ upstream: "second", failure: "it answered with status 500" }];
    expect(await latest()).toMatchObject({ outcome: Outcome.REJECTED, upstream: "first", tried });
    expect(await measured()).toEqual({ first: [1, 0], second: [1, 1] });
  });

  test("the second rejects the request, whatever the first failed by", async () => {
    expect(told(await failBoth(500, 400))).toEqual([400, "second", "2"]);
    const tried = [{ upstream: "first", failure: "it answered with status 500" }];
    expect(await latest()).toMatchObject({ outcome: Outcome.REJECTED, upstream: "second", tried });
    expect(await measured()).toEqual({ first: [1, 1], second: [1, 0] });
  });

  test("both fail, and each is told once", async () => {
    expect(told(await failBoth(500, 500))).toEqual([502, "first", "2"]);
    const tried = [{ upstream: "second", failure: "it answered with status 500" }];
    expect(await latest()).toMatchObject({ outcome: Outcome.FAILED, upstream: "first", tried });
    expect(await measured()).toEqual({ first: [1, 1], second: [1, 1] });
    expect(stage.gateway.logged()).toMatch(/"upstream":"first","attempts":2/);
  });

  test("one rejects what the other answers", async () => {
    await open({ hedging, retries: { attempts: 2, share: 0 } });
    stage.first.script = undefined;
    stage.second.script = (exchange) => exchange.json(400, refusal);
    const asking = stage.ask();
    const slow = await stage.first.next();
    await secondHasEnded();
    answerWell(slow);
    expect(told(await asking)).toEqual([200, "first", "2"]);
    const tried = [{ upstream: "second", failure: "it rejected the request", outcome: Outcome.REJECTED }];
    expect(await latest()).toMatchObject({ outcome: Outcome.ANSWERED, upstream: "first", tried });
    expect(await measured()).toEqual({ first: [1, 0], second: [1, 0] });
  });

  test("neither is asked again before the other targets", async () => {
    await open({ hedging, retries: { attempts: 3, share: 1 } });
    stage.first.script = undefined;
    stage.second.script = (exchange) => exchange.json(500, {});
    const asking = stage.ask();
    const slow = await stage.first.next();
    await secondHasEnded();
    stage.first.script = answerWell;
    slow.json(500, {});
    expect(told(await asking)).toEqual([200, "first", "3"]);
    expect([stage.first.received.length, stage.second.received.length]).toEqual([2, 1]);
  });
});
