/** Tools that messages of a chat add, as Kimi's API has them, reach models of every family: in messages where these are taken, else in the list. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/wire/json.ts";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { answerAsAny } from "../../support/upstreams/one-of-each.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { vendors } from "../../support/upstreams/vendor-profiles.ts";

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [
      ...["openai", "groq", "mistral", "moonshot"].map((name) => ({
        ...{ name, kind: "openai" as const, base_url },
        profile: vendors.find((vendor) => vendor.name === name)?.profile ?? {},
      })),
      { name: "anthropic", kind: "anthropic", base_url },
    ],
    models: [
      modelAt("openai", "chat", "gpt-4.1"),
      modelAt("openai", "responses", "gpt-5.5"),
      modelAt("groq", "groq", "llama-4"),
      modelAt("mistral", "mistral", "mistral-large-latest"),
      modelAt("moonshot", "kimi", "kimi-k3"),
      modelAt("anthropic", "claude", "claude-sonnet-4-6"),
    ],
    embeddedModels: false,
  }),
  { script: answerAsAny },
);

const tool = (name: string, more: JsonObject = {}) => ({
  type: "function",
  function: { name, parameters: { type: "object", properties: {} }, ...more },
});
const said = { role: "user", content: "hi" };
const answered = { role: "assistant", content: "ok" };
const adding = (...tools: JsonObject[]) => ({ role: "system", tools });

const say = (model: string, body: JsonObject) => ask(gateway, "/v1/chat/completions", { model, ...body });

/** offered returns the names of the tools that the model was offered, in any family. */
function offered(): unknown[] {
  const { tools = [] } = upstream.lastAsked as { tools?: JsonObject[] };
  return tools.map(({ name, function: own }) => name ?? (own as JsonObject).name);
}

describe.each(["chat", "responses", "groq", "mistral", "claude"])("the model %s", (model) => {
  test("is offered tools of the list and of messages, and sees no message without a content", async () => {
    for (const [tools, names] of [
      [undefined, ["read", "find"]],
      [[tool("write")], ["write", "read", "find"]],
    ] as const) {
      const messages = [adding(tool("read")), said, answered, { ...adding(tool("find")), content: null }, said];
      const { status, dropped } = await say(model, { messages, ...(tools ? { tools: [...tools] } : {}) });
      expect([status, dropped]).toEqual([200, null]);
      expect(offered()).toEqual(names);
      const turns = (upstream.lastAsked.messages ?? upstream.lastAsked.input) as JsonObject[];
      expect(turns.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    }
  });

  test("is offered the later of two tools of a name", async () => {
    const later = tool("read", { description: "later" });
    await say(model, { messages: [said, adding(later), said], tools: [tool("read"), tool("write")] });
    expect(offered()).toEqual(["read", "write"]);
    expect(JSON.stringify(upstream.lastAsked.tools)).toContain("later");
  });

  test("is told what else such a message says", async () => {
    await say(model, { messages: [said, { ...adding(tool("read")), content: "Read on." }, said] });
    expect(offered()).toEqual(["read"]);
    expect(JSON.stringify(upstream.lastAsked)).toContain("Read on.");
  });

  test("is not offered what is no tool", async () => {
    const odd: JsonObject = { type: "function", function: { name: 5 } };
    const { status, dropped } = await say(model, { messages: [said, adding(odd, tool("read")), said] });
    expect([status, dropped]).toEqual([200, "messages[1].tools"]);
    expect(offered()).toEqual(["read"]);
  });
});

test("Kimi has them in messages, with a choice among them", async () => {
  const messages = [said, adding(tool("read")), said];
  await say("kimi", { messages, tool_choice: "none" });
  expect(upstream.lastAsked).toMatchObject({ messages, tool_choice: "none" });
  expect(upstream.lastAsked.tools).toBeUndefined();
});

test("a model that reasons is asked by the operation in which it may have tools", async () => {
  await say("responses", { messages: [said, adding(tool("read")), said] });
  expect(upstream.lastAsked.input).toBeDefined();
});

test("a custom one is a function for a server that knows functions only", async () => {
  await say("groq", { messages: [said, adding({ type: "custom", custom: { name: "patch" } }), said] });
  expect(upstream.lastAsked.tools).toMatchObject([{ type: "function", function: { name: "patch" } }]);
});

test("a path of such a tool, and of a message behind, is the caller's", async () => {
  const strict = tool("read", { parameters: { type: "object", properties: {}, if: {} }, odd: true });
  const messages = [adding(tool("find")), adding(strict), { ...said, odd: true }];
  const { dropped } = await say("claude", { messages, tools: [tool("write")] });
  expect(dropped?.split(", ")).toEqual(
    expect.arrayContaining(["messages[1].tools[0].function.odd", "messages[2].odd"]),
  );
});

test("they are moved in a long request, too", async () => {
  const long = { role: "user", content: "long ".repeat(400_000) };
  for (const model of ["chat", "claude"]) {
    expect((await say(model, { messages: [long, adding(tool("read")), said] })).status).toBe(200);
    expect(offered()).toEqual(["read"]);
    expect(JSON.stringify(upstream.lastAsked)).toContain(long.content);
  }
});
