/** Calls without an id or a name, and results without an id, reach servers of every family as pairs, from callers of every family. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { namedItems, namedTurns } from "../../../src/families/tools/named-calls.ts";
import { itemsPerSlice, runNow } from "../../../src/runtime/cooperative.ts";
import { ask } from "../../support/ask.ts";
import { cpuMsOf } from "../../support/run/cpu-time.ts";
import { longestTurn, watchTypes } from "../../support/run/longest-turn.ts";
import { allFamiliesStage } from "../../support/upstreams/families-stage.ts";

const { upstream, gateway } = allFamiliesStage();

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

    test.each(path === "/chat/completions" ? [undefined, "", "c1"] : ["c1"])(
      "a result of the id %j before any call is told as text",
      async (id) => {
        expect(await pairsFor({ ...(id === undefined ? {} : { id }), result: "early" })).toEqual([]);
        expect(JSON.stringify(upstream.lastAsked)).toMatch(/for which no call is waiting:.*early/);
      },
    );

    test("a result has the call that came without an id, where no call has its own", async () => {
      const [a, b, c] = ["a", "b", "c"].map((name) => ({ name }));
      const given = ["x1x1x1x1x", "call_2", "call_3"].map((id) => ({ id, result: `of ${id}` }));
      expect(await pairsFor(a as Told, b as Told, c as Told, ...given)).toEqual([
        ["a", "of x1x1x1x1x"],
        ["b", "of call_2"],
        ["c", "of call_3"],
      ]);
      expect(JSON.stringify(upstream.lastAsked)).toContain("x1x1x1x1x");
      expect(
        await pairsFor({ name: "a" }, { id: "c2", name: "b" }, { id: "c2", result: "2" }, { id: "0", result: "1" }),
      ).toEqual([
        ["a", "1"],
        ["b", "2"],
      ]);
    });

    test("a result without an id is of the oldest call, whether or not that has a name", async () => {
      const results = ["1", "2"].map((result) => ({ result }));
      expect(await pairsFor({ id: "c1", name: "a" }, { id: "c2" }, ...results)).toEqual([
        ["a", "1"],
        ["unnamed", "2"],
      ]);
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

const { watched, reads } = watchTypes();

const many = (times: number, make: (i: number) => JsonObject) => Array.from({ length: times }, (_, i) => make(i));

test.each([
  ["with ids", (i: number) => `c${i}`],
  ["without", () => ""],
])("the calls of one turn and their results, %s, are read a few at a time", (_, idOf) => {
  const times = 5_000;
  const work = namedTurns([
    { role: "assistant", content: many(times, (i) => watched({ type: "tool_use", id: idOf(i), name: "a" })) },
    { role: "user", content: many(times, (i) => watched({ type: "tool_result", tool_use_id: idOf(i) })) },
  ]);
  expect(longestTurn(work, reads).most).toBeLessThanOrEqual(8 * itemsPerSlice);
});

test("many calls get their results in time that grows with their number alone", async () => {
  const times = 300_000;
  const items = [
    ...many(times, (i) => ({ type: "function_call", call_id: `c${i}`, name: "a", arguments: "{}" })),
    ...many(times, (i) => ({ type: "function_call_output", call_id: `c${i}`, output: "1" })),
  ];
  let named: JsonValue[] = [];
  // With a look at all answered calls for each result it would take 58 s.
  const spent = await cpuMsOf(() => (named = runNow(namedItems(items))));
  expect(named).toBe(items);
  expect(spent).toBeLessThan(18_000);
});

test.each([
  ["custom_tool_call", "function_call_output", { input: "x" }],
  ["function_call", "custom_tool_call_output", { arguments: "{}" }],
])("a result of a response has the type of its call: %s", async (type, other, more) => {
  const call = { type, call_id: "c1", name: "sh", ...more };
  const input = [user, call, { type: other, call_id: "c1", output: null }, user];
  const { status, text } = await ask(gateway, "/v1/responses", { model: "all", store: false, input });
  expect(status, text).toBe(200);
  expect(upstream.lastAsked.input).toEqual([user, call, { type: `${type}_output`, call_id: "c1", output: "" }, user]);
});
