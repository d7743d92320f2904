/**
 * Calls go on while the configuration is changed again and again: none is dropped, and none is answered by half of one version and half of
 * another. `npm run test:changing` makes ten thousand calls at five hundred a second, and fifty changes.
 *
 * In version k the only upstream is called by the key `key-k`, below the path `/k/v1`, for the model `far-k`, at the price of k units: a
 * call in which two of these differ, or its charge, went by two versions.
 */
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Config } from "../../src/config/config.ts";
import { startTestGateway } from "../support/gateway.ts";
import { type ScriptedExchange, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { wholeAnswer } from "../support/upstreams/two-upstreams.ts";

const { CALLS = "300", CHANGES = "12", CALLS_A_SECOND = "500" } = process.env;
const [calls, changes, aSecond] = [Number(CALLS), Number(CHANGES), Number(CALLS_A_SECOND)];

/** Some names come again, as those of upstreams that are changed; the others are of upstreams that go and come. */
const nameIn = (version: number) => `far-${version % 3}`;

function configOf(version: number, baseUrl: string): Pick<Config, "upstreams" | "models" | "tiers" | "retries"> {
  const base_url = `${baseUrl.replace("/v1", "")}/${version}/v1`;
  const name = nameIn(version);
  const targets = [{ upstream: name, model: `far-${version}`, priority: 0, weight: 1 }];
  const price = { input: version * 1_000_000, output: version * 1_000_000 };
  return {
    upstreams: [{ name, kind: "openai", base_url, api_key: `key-${version}` }],
    models: [{ id: "m", aliases: [], family: "f", kind: "chat", completions: "chat", price, targets }],
    tiers: [
      { name: `tier ${version}`, recharge: 0, requestsPerMinute: 1_000_000 + version, tokensPerMinute: undefined },
    ],
    retries: { attempts: 1 + (version % 3), share: 0.15 },
  };
}

/** Answers with the version that the request went by, some time later; 400 where it went by two. */
async function answerByVersion(exchange: ScriptedExchange): Promise<void> {
  const { model, stream } = exchange.asked as { model: string; stream?: boolean };
  const version = Number(exchange.path.split("/")[1]);
  const { authorization } = exchange.headers;
  if (model !== `far-${version}` || authorization !== `Bearer key-${version}`)
    return exchange.json(400, { error: { message: `${exchange.path}, ${model} and ${authorization}` } });
  const content = String(version);
  const { usage, choices: _, ...head } = wholeAnswer;
  await delay(Math.random() * 150);
  if (!stream) {
    const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
    return exchange.json(200, { ...wholeAnswer, choices });
  }
  const chunk = (delta: object, finish_reason: string | null) => ({
    ...{ ...head, object: "chat.completion.chunk" },
    choices: [{ index: 0, delta, finish_reason }],
  });
  exchange.stream(chunk({ role: "assistant", content }, null), chunk({}, "stop"), {
    ...{ ...head, object: "chat.completion.chunk", choices: [], usage },
  });
}

interface Told {
  readonly id: string;
  readonly status: number;
  readonly upstream: string | null;
  readonly text: string;
}

test(`of ${calls} calls while the configuration is changed ${changes} times none is dropped, and none goes by two versions`, async () => {
  const upstream = await startScriptedUpstream((exchange) => void answerByVersion(exchange));
  const first = configOf(1, upstream.baseUrl);
  const gateway = await startTestGateway({ ...first, embeddedModels: false }, { clock: Date.now });
  const ask = async (i: number): Promise<Told> => {
    const body = { model: "m", stream: i % 2 === 0, messages: [{ role: "user", content: `Hi ${i}` }] };
    const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const { headers, status } = response;
    const id = headers.get("x-request-id") ?? "";
    return { id, status, upstream: headers.get("x-gateway-upstream"), text: await response.text() };
  };
  try {
    const asked: Promise<Told>[] = [];
    const begunAt = performance.now();
    let version = 1;
    let firstOfVersion = 0;
    while (asked.length < calls) {
      const due = Math.min(calls, Math.ceil(((performance.now() - begunAt) / 1000) * aSecond));
      while (asked.length < due) {
        asked.push(ask(asked.length));
        if (asked.length < (version * calls) / (changes + 1) || version > changes) continue;
        // Each version answers one call at least, on a busy machine, too: the first that was made in it.
        await asked[firstOfVersion];
        firstOfVersion = asked.length;
        version++;
        gateway.live.replace({ ...gateway.live.current(), ...configOf(version, upstream.baseUrl) });
      }
      await delay(1);
    }
    const told = await Promise.all(asked);
    expect(told.filter(({ status }) => status !== 200)).toEqual([]);
    expect(version).toBe(changes + 1);
    const versions = new Map(told.map(({ id, text }) => [id, Number(/"content": ?"(\d+)"/.exec(text)?.[1])]));
    expect(told.filter(({ id, upstream }) => upstream !== nameIn(versions.get(id) as number))).toEqual([]);
    // Every version was seen, so that nothing was shown of fewer.
    expect(new Set(versions.values()).size).toBe(changes + 1);
    const { accountId, storage } = gateway;
    const cost = wholeAnswer.usage.total_tokens;
    let rows = 0;
    let before: string | undefined;
    for (;;) {
      const page = await storage.requests.page({ accountId }, before, 1000);
      if (page.length === 0) break;
      for (const row of page) expect([row.id, row.cost]).toEqual([row.id, cost * (versions.get(row.id) as number)]);
      rows += page.length;
      before = page.at(-1)?.id;
    }
    expect(rows).toBe(calls);
  } finally {
    await gateway.close();
    await upstream.close();
  }
}, 300_000);
