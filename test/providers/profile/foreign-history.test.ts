/** Histories of other servers reach each server of chat with results, names and contents that it takes, also where nothing is translated. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { withVendor } from "../../../src/config/catalogue/vendors.ts";
import type { UpstreamConfig } from "../../../src/config/config.ts";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { vendors } from "../../support/upstreams/vendor-profiles.ts";
import { answerAsOpenAi, outputMessage, respond, responseAnswer } from "../../support/vendors.ts";

const names = ["openai", "groq", "deepseek", "mistral", "vllm"];

/** Profiles of servers that nobody knows. */
const profiles: Readonly<Record<string, UpstreamConfig["profile"]>> = {
  texts: { plain_text: ["tool"] },
  kept: { plain_text: ["tool"], result_media: "kept" },
};

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [
      ...names.map((vendor) => withVendor({ name: `at-${vendor}`, kind: "openai", base_url, vendor }, vendors)),
      ...Object.entries(profiles).map(([name, profile]) => ({
        ...{ name: `at-${name}`, kind: "openai" as const, base_url, api_key: "upstream-key", profile },
      })),
    ],
    models: [
      ...Object.keys(profiles).map((name) => modelAt(`at-${name}`, name, "open-model")),
      ...names.map((vendor) => modelAt(`at-${vendor}`, vendor, "gpt-4.1")),
      modelAt("at-openai", "items", "gpt-5.6-sol"),
    ],
    embeddedModels: false,
  }),
  {
    script: (exchange) =>
      exchange.path.endsWith("/responses")
        ? respond(exchange, responseAnswer([outputMessage("ok")]))
        : answerAsOpenAi(exchange),
  },
);

const user = { role: "user", content: "go on" };
const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
const seen = { type: "text", text: "seen" };
const called = (id: string, name = "look", more: JsonObject = {}) => ({
  ...{ id, type: "function", function: { name, arguments: "{}" } },
  ...more,
});
const calls = (...list: JsonObject[]) => ({ role: "assistant", content: "Wait.", tool_calls: list });
const result = (tool_call_id: string, content: JsonValue) => ({ role: "tool", tool_call_id, content });

async function sentFor(model: string, messages: JsonObject[], more: JsonObject = {}): Promise<JsonObject[]> {
  const { status, text, dropped } = await ask(gateway, "/v1/chat/completions", { model, messages, ...more });
  expect([status, dropped], text).toEqual([200, null]);
  return upstream.lastAsked.messages as JsonObject[];
}

describe("images in results of tools", () => {
  const history = [user, calls(called("a"), called("b")), result("a", [seen, image]), result("b", [image]), user];

  test.each(["openai", "groq", "deepseek", "texts"])(
    "are shown by the user behind the results at %s",
    async (vendor) => {
      const sent = await sentFor(vendor, history);
      expect(sent.slice(2)).toEqual([
        result("a", "seen"),
        result("b", ""),
        {
          role: "user",
          content: [
            { type: "text", text: "Attached to the result of a:" },
            image,
            { type: "text", text: "Attached to the result of b:" },
            image,
          ],
        },
        user,
      ]);
      expect((await sentFor(vendor, history.slice(0, 3))).at(-1)?.role).toBe("user");
    },
  );

  test.each(["vllm", "kept"])("stay in the results at a server that takes them there: %s", async (name) => {
    expect(await sentFor(name, history)).toEqual(history);
  });

  test("leave results of texts alone as they are", async () => {
    const plain = [user, calls(called("a")), result("a", [seen])];
    expect(await sentFor("openai", plain)).toEqual(plain);
  });
});

describe("names of earlier calls", () => {
  test.each(["openai", "mistral"])("that nobody takes are others at %s, always the same", async (vendor) => {
    const history = [user, calls(called("abcdefghi", "read<|channel|>commentary")), result("abcdefghi", "1"), user];
    const nameIn = (sent: JsonObject[]) =>
      ((sent[1]?.tool_calls ?? []) as { function: { name: string } }[])[0]?.function.name;
    const name = nameIn(await sentFor(vendor, history));
    expect(name).toMatch(/^read[a-zA-Z0-9_-]{1,60}$/);
    expect(nameIn(await sentFor(vendor, history))).toBe(name);
  });

  test("of Kimi's own functions are those of functions", async () => {
    const search = called("a", "$web_search", { type: "builtin_function" });
    const [, sent] = await sentFor("openai", [user, calls(search), result("a", "1")]);
    expect(sent?.tool_calls).toEqual([called("a", expect.stringMatching(/^_web_search_\w+$/))]);
  });

  test.each<[string, JsonObject, JsonObject]>([
    ["a function", { tools: [{ type: "function", function: { name: "mcp.read" } }] }, called("a", "mcp.read")],
    ["a function of old", { functions: [{ name: "mcp.read" }] }, called("a", "mcp.read")],
    [
      "Kimi's own function",
      { tools: [{ type: "builtin_function", function: { name: "$web_search" } }] },
      called("a", "$web_search", { type: "builtin_function" }),
    ],
  ])("that are offered stay, as their types do: %s", async (_, offer, call) => {
    const history = [user, calls(call), result("a", "1"), user];
    expect(await sentFor("openai", history, offer)).toEqual(history);
    expect(upstream.lastAsked).toMatchObject(offer);
  });

  test("that are offered as functions are those of functions", async () => {
    const offer = { tools: [{ type: "function", function: { name: "$web_search" } }] };
    const search = called("a", "$web_search", { type: "builtin_function" });
    const [, sent] = await sentFor("openai", [user, calls(search), result("a", "1")], offer);
    expect(sent?.tool_calls).toEqual([called("a", "$web_search")]);
  });

  test("of a response that are offered stay", async () => {
    const call = (name: string) => ({ type: "function_call", call_id: "c1", name, arguments: "{}" });
    const input = (name: string) => [user, call(name), { type: "function_call_output", call_id: "c1", output: "1" }];
    const sentNames = async (name: string, tools: JsonObject[]) => {
      const { status, text } = await ask(gateway, "/v1/responses", { model: "items", input: input(name), tools });
      expect(status, text).toBe(200);
      return (upstream.lastAsked.input as JsonObject[])[1]?.name;
    };
    const tool = { type: "function", name: "mcp.read", parameters: null, strict: false };
    expect(await sentNames("mcp.read", [tool])).toBe("mcp.read");
    const group = { type: "namespace", name: "files", description: "Files.", tools: [tool] };
    expect(await sentNames("mcp.read", [group])).toBe("mcp.read");
    expect(await sentNames("mcp.write", [tool])).toMatch(/^mcp_write_\w+$/);
  });

  test.each(["function_call", "custom_tool_call"])("of a response that nobody takes are others: %s", async (type) => {
    const said = type === "function_call" ? { arguments: "{}" } : { input: "x" };
    const call = { type, call_id: "c1", name: "read file", ...said };
    const input = [user, call, { type: `${type}_output`, call_id: "c1", output: "1" }, user];
    const { status, text } = await ask(gateway, "/v1/responses", { model: "items", input });
    expect(status, text).toBe(200);
    expect(upstream.lastAsked.input[1]).toEqual({ ...call, name: expect.stringMatching(/^read_file_\w+$/) });
  });

  test("that a server takes stay", async () => {
    const history = [user, calls(called("a", "mcp.files/read")), result("a", "1")];
    expect(await sentFor("vllm", history)).toEqual(history);
  });
});

test("names of those who speak have no signs that OpenAI refuses", async () => {
  const [first, second, third] = await sentFor("openai", [
    { ...user, name: "Jürgen M" },
    { ...user, name: "Jürgen" },
    { ...user, name: "" },
  ]);
  expect(third).toEqual(user);
  expect(first?.name).toMatch(/^Jürgen_M_\w+$/);
  expect(second?.name).toBe("Jürgen");
});

test.each([[[]], [null]])("a content of %j is an empty text but for the model's own turns", async (content) => {
  const history = [
    { role: "user", content },
    calls(called("a")),
    result("a", content),
    { role: "assistant", content },
    user,
  ];
  const sent = await sentFor("vllm", history);
  expect(sent.map((message) => message.content)).toEqual(["", "Wait.", "", null, "go on"]);
});

test("a content of null is an empty text in the items of a response", async () => {
  const input = [user, { type: "message", role: "assistant", content: null }, { role: "user", content: null }, user];
  const { status, text } = await ask(gateway, "/v1/responses", { model: "items", input });
  expect(status, text).toBe(200);
  expect(upstream.lastAsked.input.map(({ content }: JsonObject) => content)).toEqual(["go on", "", "", "go on"]);
});

describe("thinking among the parts of an earlier answer, as Mistral has it,", () => {
  const thinking = { type: "thinking", thinking: [{ type: "text", text: "A cat?" }], closed: true };
  const answer = { role: "assistant", content: [thinking, { type: "text", text: "A cat." }] };

  test("goes by the key that a server has for it", async () => {
    const deepseek = { role: "assistant", content: "A cat.", reasoning_content: "A cat?" };
    expect(await sentFor("deepseek", [user, answer, user])).toEqual([user, deepseek, user]);
    const vllm = { role: "assistant", content: [{ type: "text", text: "A cat." }], reasoning: "A cat?" };
    expect(await sentFor("vllm", [user, answer, user])).toEqual([user, vllm, user]);
  });

  test("stays at Mistral, and is named where a server takes none", async () => {
    expect(await sentFor("mistral", [user, answer, user])).toEqual([user, answer, user]);
    const messages = [user, answer, user];
    const { status, dropped } = await ask(gateway, "/v1/chat/completions", { model: "openai", messages });
    expect([status, dropped]).toEqual([200, "messages[1].content[0]"]);
    expect(upstream.lastAsked.messages).toEqual([
      user,
      { role: "assistant", content: [{ type: "text", text: "A cat." }] },
      user,
    ]);
  });
});
