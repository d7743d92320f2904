/** Calls without an id or a name, and results without an id, reach servers of every family as pairs, from callers of every family. */
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsAnthropic, answerAsOpenAi, outputMessage, respond, responseAnswer } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [
      { name: "far", kind: "openai", base_url },
      { name: "claude", kind: "anthropic", base_url },
      { name: "all", kind: "openai", base_url, profile: { operations: { responses: "/responses" } } },
      {
        name: "any",
        kind: "openai",
        base_url,
        profile: { operations: { responses: "/responses" }, responses_items: "any" },
      },
    ],
    models: [
      modelAt("far", "chat", "m"),
      modelAt("claude", "messages", "claude-sonnet-4-6"),
      modelAt("all", "responses", "m"),
      modelAt("any", "any", "m"),
    ],
    embeddedModels: false,
  }),
  {
    script: (exchange) => {
      if (exchange.path.endsWith("/messages")) answerAsAnthropic(exchange);
      else if (exchange.path.endsWith("/responses")) respond(exchange, responseAnswer([outputMessage("ok")]));
      else answerAsOpenAi(exchange);
    },
  },
);

/** Told is a call or a result, as short as it can be said; without an id where it is empty. */
interface Told {
  readonly id?: string | null;
  readonly name?: string;
  readonly result?: string;
}

const user = { role: "user", content: "go on" };
const isCall = ({ result }: Told) => result === undefined;

const bodies: Readonly<Record<string, (...told: Told[]) => JsonObject>> = {
  "/chat/completions": (...told) => ({
    messages: [
      user,
      {
        role: "assistant",
        content: null,
        tool_calls: told
          .filter(isCall)
          .map(({ name = "", ...id }) => ({ ...id, type: "function", function: { name, arguments: "{}" } })),
      },
      ...told
        .filter((one) => !isCall(one))
        .map(({ id, name, result = "" }) => ({
          role: "tool",
          content: result,
          ...(id === undefined ? {} : { tool_call_id: id }),
          ...(name === undefined ? {} : { name }),
        })),
      user,
    ],
  }),
  "/messages": (...told) => ({
    max_tokens: 99,
    messages: [
      user,
      {
        role: "assistant",
        content: told.filter(isCall).map(({ name = "", id = "" }) => ({ type: "tool_use", id, name, input: {} })),
      },
      {
        role: "user",
        content: told
          .filter((one) => !isCall(one))
          .map(({ id = "", result = "" }) => ({ type: "tool_result", tool_use_id: id, content: result })),
      },
    ],
  }),
  "/responses": (...told) => ({
    store: false,
    input: [
      user,
      ...told.map(({ id = "", name, result }) =>
        result === undefined
          ? { type: "function_call", call_id: id, name: name ?? "", arguments: "{}" }
          : { type: "function_call_output", call_id: id, output: result, ...(name === undefined ? {} : { name }) },
      ),
      user,
    ],
  }),
};

/** pairsIn returns the calls of what a server was sent, each with its result. */
function pairsIn({ messages, input }: JsonObject): [name: unknown, result: unknown][] {
  const parts = ((input ?? messages) as JsonObject[]).flatMap((entry): JsonObject[] => [
    entry,
    ...(Array.isArray(entry.content) ? (entry.content as JsonObject[]) : []),
    ...((entry.tool_calls ?? []) as JsonObject[]),
  ]);
  const results = new Map(
    parts.flatMap((one): [unknown, unknown][] => {
      const id =
        one.role === "tool"
          ? one.tool_call_id
          : (one.tool_use_id ?? (one.output === undefined ? undefined : one.call_id));
      return id === undefined ? [] : [[id, one.output ?? one.content]];
    }),
  );
  return parts.flatMap(({ type, id, call_id, name, function: called }): [unknown, unknown][] => {
    if (type === "function") return [[(called as JsonObject).name, results.get(id)]];
    return type === "tool_use" || type === "function_call" ? [[name, results.get(call_id ?? id)]] : [];
  });
}

describe.each(Object.keys(bodies))("from callers of %s", (path) => {
  describe.each(["chat", "messages", "responses"])("to a server of %s", (model) => {
    async function pairsFor(...told: Told[]) {
      const { status, text } = await ask(gateway, `/v1${path}`, { model, ...bodies[path]?.(...told) });
      expect(status, text).toBe(200);
      return pairsIn(upstream.lastAsked);
    }

    test.each([[undefined], [""], [null]])("results of calls whose ids are %j are found by their order", async (id) => {
      const ids = id === undefined ? {} : { id };
      const calls = ["a", "b"].map((name) => ({ ...ids, name }));
      expect(await pairsFor(...calls, { ...ids, result: "1" }, { ...ids, result: "2" })).toEqual([
        ["a", "1"],
        ["b", "2"],
      ]);
    });

    test("a result without an id is that of a call with one", async () => {
      expect(await pairsFor({ id: "c1", name: "a" }, { result: "1" })).toEqual([["a", "1"]]);
    });

    test("a call without a name has one", async () => {
      expect(await pairsFor({ id: "c1" }, { id: "c1", result: "1" })).toEqual([["unnamed", "1"]]);
    });

    test("a result without an id for which no call waits is told as text", async () => {
      const told = { id: "c1", name: "a" };
      expect(await pairsFor(told, { id: "c1", result: "1" }, { result: "late" })).toEqual([["a", "1"]]);
      expect(JSON.stringify(upstream.lastAsked)).toContain("for which no call is waiting");
    });

    // Results of messages name no tool.
    if (path === "/messages") return;
    test("results that name their tool are of its call", async () => {
      const results = ["b", "a"].map((name) => ({ name, result: `of ${name}` }));
      expect(await pairsFor({ name: "a" }, { name: "b" }, ...results)).toEqual([
        ["a", "of a"],
        ["b", "of b"],
      ]);
    });
  });
});

test.each([
  ["custom_tool_call", "function_call_output", { input: "x" }],
  ["function_call", "custom_tool_call_output", { arguments: "{}" }],
])("a result of a response has the type of its call: %s", async (type, other, more) => {
  const call = { type, call_id: "c1", name: "sh", ...more };
  const input = [user, call, { type: other, call_id: "c1", output: null }, user];
  const { status, text } = await ask(gateway, "/v1/responses", { model: "any", store: false, input });
  expect(status, text).toBe(200);
  expect(upstream.lastAsked.input).toEqual([user, call, { type: `${type}_output`, call_id: "c1", output: "" }, user]);
});
