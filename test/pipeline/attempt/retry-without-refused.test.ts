/** A server that nobody knows, and that refuses keys which OpenAI's API does not have, in the words of those that do so. */
import { describe, expect, test } from "vitest";
import { issueKey } from "../../../src/services/keys/issue-key.ts";
import { createFurtherKeys } from "../../../src/targets/further-keys.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { ask, eventsIn } from "../../support/ask.ts";
import { modelAt, upstreamAt } from "../../support/gateway.ts";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsOpenAi } from "../../support/vendors.ts";

const stage = scriptedStage((baseUrl) => ({ ...upstreamAt(baseUrl), models: [modelAt("far", "m")] }), {
  perTest: true,
  script: strictly,
});

type Words = (key: string, path: string) => [number, object];

const invalid = "invalid_request_error";
const words: Record<string, Words> = {
  Groq: (key, path) => {
    const message = `'${path}' : for 'role:user' the following must be satisfied[('${path}' : property '${key}' is unsupported)]`;
    return [400, { error: { message, type: invalid } }];
  },
  Cerebras: (key, path) => [
    400,
    { message: `${path}: property '${path}.${key}' is unsupported`, type: invalid, code: "wrong_api_format" },
  ],
  Mistral: (key) => [
    422,
    { detail: [{ type: "extra_forbidden", loc: ["body", "messages", 0, key], msg: "Extra inputs are not permitted" }] },
  ],
  Google: (key) => {
    const message = `Invalid JSON payload received. Unknown name "${key}": Cannot find field.`;
    return [400, [{ error: { code: 400, message, status: "INVALID_ARGUMENT" } }]];
  },
  OpenAI: (key, path) => [
    400,
    { error: { message: `Unknown parameter: '${path}.${key}'.`, type: invalid, code: "unknown_parameter" } },
  ],
};

let say: Words = words.Groq as Words;
let refuses = true;

const known = {
  request: ["model", "messages", "stream", "stream_options", "max_tokens", "temperature", "tools", "tool_choice"],
  message: ["role", "content", "name", "tool_calls", "tool_call_id"],
  part: ["type", "text"],
};

/** strictly refuses the first key that is not known, as one after the other would be. */
function strictly(exchange: ScriptedExchange): void {
  const { asked } = exchange;
  const messages = asked.messages as JsonObject[];
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as JsonObject[]) : []));
  const strange = (one: JsonObject, keys: readonly string[]) => Object.keys(one).filter((key) => !keys.includes(key));
  const found = [
    ...strange(asked, known.request).map((key) => [key, "body"] as const),
    ...messages.flatMap((one, i) => strange(one, known.message).map((key) => [key, `messages.${i}`] as const)),
    ...parts.flatMap((one) => strange(one, known.part).map((key) => [key, "messages.0.content.0"] as const)),
  ];
  const [first] = found;
  if (first && refuses) exchange.json(...say(first[0], first[1]));
  else answerAsOpenAi(exchange);
}

const mark = { cache_control: { type: "ephemeral" } };
const marked = { messages: [{ role: "user", content: [{ type: "text", text: "hi", ...mark }] }] };
const replayed = {
  messages: [
    { role: "user", content: "hi" },
    { role: "assistant", content: "hello", reasoning_content: "hm", id: "msg_1", annotations: [] },
    { role: "user", content: "go on" },
  ],
};
const settings = { messages: [{ role: "user", content: "hi" }], provider: { order: ["a"] }, top_k: 4 };

async function send(body: object, options: Parameters<typeof ask>[3] = {}) {
  const before = stage.upstream.received.length;
  const answer = await ask(stage.gateway, "/v1/chat/completions", { model: "m", ...body } as JsonObject, options);
  return { ...answer, asked: stage.upstream.received.length - before };
}

describe.each(Object.entries(words))("in the words of %s", (_, spoken) => {
  test.each([
    ["a mark", marked, "messages[0].content[0].cache_control"],
    ["keys of an earlier answer", replayed, "messages[1].reasoning_content, messages[1].id"],
    ["settings of others", settings, "provider, top_k"],
    [
      "all of them",
      { ...replayed, ...settings, messages: [...replayed.messages, ...marked.messages] },
      /id.*cache_control.*top_k/,
    ],
  ])("%s: it is asked again without, and at once the next time", async (_, body, dropped) => {
    say = spoken;
    refuses = true;
    const first = await send(body);
    expect([first.status, first.text]).toEqual([200, first.text]);
    expect(first.dropped).toMatch(dropped);
    expect(first.asked).toBeGreaterThan(1);
    const next = await send({ ...body, stream: true });
    expect([next.status, next.asked]).toEqual([200, 1]);
    expect(eventsIn(next.text).length).toBeGreaterThan(0);
    // Both are charged once.
    const { storage } = stage.gateway;
    const calls = await storage.requests.page({ accountId: stage.gateway.accountId }, undefined, 10);
    expect(calls).toHaveLength(2);
  });
});

test("what it refuses for another reason is told, and it is asked once", async () => {
  say = () => [400, { error: { message: "Invalid value for 'temperature': must be at most 2.", type: invalid } }];
  refuses = true;
  const refused = await send(settings);
  expect([refused.status, refused.asked]).toEqual([400, 1]);
  expect(refused.text).toContain("must be at most 2");
  say = (key) => [429, { error: { message: `unknown ${key}: too many requests`, type: "rate_limit_error" } }];
  expect((await send(settings)).status).toBe(429);
});

test("the last refusal is told where it refuses what is left, too, and nothing is learned of it", async () => {
  say = (key) => [
    400,
    { error: { message: `Unknown parameter: '${key}'. Also, this model is switched off.`, type: invalid } },
  ];
  refuses = true;
  stage.upstream.script = (exchange) => exchange.json(...say("provider", "body"));
  const refused = await send(settings);
  expect([refused.status, refused.asked]).toEqual([400, 2]);
  stage.upstream.script = strictly;
  refuses = false;
  expect((await send(settings)).dropped).toBeNull();
  expect(stage.upstream.lastAsked).toHaveProperty("provider");
});

test("what it has refused of one API key changes nothing for another", async () => {
  say = words.OpenAI as Words;
  refuses = true;
  expect((await send(settings)).dropped).toBe("provider, top_k");
  refuses = false;
  const { storage, accountId } = stage.gateway;
  const { secret } = await issueKey(storage.keys, { accountId, name: "another", admin: false, now: Date.now() });
  expect((await send(settings, { apiKey: secret })).dropped).toBeNull();
  expect(stage.upstream.lastAsked).toMatchObject({ provider: settings.provider, top_k: 4 });
  expect((await send(settings)).dropped).toBe("provider, top_k");
});

test("a caller who wants all or nothing is refused", async () => {
  say = words.OpenAI as Words;
  refuses = true;
  const refused = await send(settings, { headers: { "x-gateway-strict": "true" } });
  expect(refused.status).toBe(400);
  expect(refused.text).toContain("top_k");
});

test("it is forgotten after ten minutes", () => {
  let now = 0;
  const keys = createFurtherKeys(() => now);
  const refused = { forms: { place: "messages" }, members: [], betas: [] } as const;
  const more = { forms: {}, members: [{ path: ["user"], of: null }], betas: ["a"] } as const;
  keys.note("a", refused);
  keys.note("b", more);
  expect([keys.refused("a"), keys.refused("b"), keys.refused("c")]).toEqual([refused, more, undefined]);
  now = 600_000;
  expect(keys.refused("a")).toBeUndefined();
  keys.note("c", more);
  expect([keys.refused("b"), keys.refused("c")]).toEqual([undefined, more]);
});
