/** Turns of a chat alternate, or have one call, where the server demands that, however many there are. */
import { describe, expect, test } from "vitest";
import { alternatingTurns, singleCalls } from "../../../src/providers/profile/calls/turns.ts";
import type { JsonObject } from "../../../src/wire/json.ts";

const alternating = { turns: "alternating" } as const;
const single = { turn_calls: "one" } as const;
const user = (content: string): JsonObject => ({ role: "user", content });
const model = (content: string): JsonObject => ({ role: "assistant", content });
const call = (id: string | null): JsonObject => ({ id, type: "function", function: { name: "f", arguments: "{}" } });
const calls = (...ids: (string | null)[]): JsonObject => ({ ...model(""), tool_calls: ids.map(call) });
const result = (id: string): JsonObject => ({ role: "tool", tool_call_id: id, content: id });
const begin = user("Begin.");

describe("turns that alternate", () => {
  test.each<[string, JsonObject[], JsonObject[]]>([
    [
      "the model's first, and two of the user's",
      [model("m"), user("a"), user("b")],
      [begin, model("m"), user("a\n\nb")],
    ],
    ["two of the model's first", [model("m"), model("n"), user("a")], [begin, model("m\n\nn"), user("a")]],
    ["a call behind a text", [user("a"), model("m"), calls("c")], [user("a"), { ...calls("c"), content: "m" }]],
  ])("%s", (_, messages, expected) => {
    expect(alternatingTurns(messages, alternating)).toEqual(expected);
  });

  test("are one of very many", () => {
    const [only, ...others] = alternatingTurns(Array<JsonObject>(200_000).fill(user("a")), alternating);
    expect([only?.content, others]).toEqual([Array<string>(200_000).fill("a").join("\n\n"), []]);
  });
});

describe("turns of one call", () => {
  test.each<[string, JsonObject[], JsonObject[]]>([
    [
      "results without a call",
      [calls("c", "d"), result("x"), result("d"), result("c")],
      [calls("c"), result("c"), calls("d"), result("x"), result("d")],
    ],
    ["calls without a result", [calls("c", null), user("a")], [calls("c"), calls(null), user("a")]],
    [
      "several turns",
      [result("x"), calls("c", "d"), result("c"), calls("e"), result("e")],
      [result("x"), calls("c"), result("c"), calls("d"), calls("e"), result("e")],
    ],
  ])("%s", (_, messages, expected) => {
    expect(singleCalls(messages, single)).toEqual(expected);
  });

  test("are made in steps in proportion to the messages, calls and results", () => {
    let reads = 0;
    const watched = (message: JsonObject, key: string): JsonObject => {
      const value = message[key] as string;
      return Object.defineProperty({ ...message }, key, { get: () => [value, reads++][0], enumerable: true });
    };
    const count = 2_000;
    const ids = Array.from({ length: count }, (_, i) => `c${i}`);
    const turns = ids.map(() => watched(user("a"), "role"));
    const results = ids.map((id) => watched(result(id), "tool_call_id"));
    expect(singleCalls([...turns, calls(...ids), ...results], single)).toHaveLength(3 * count);
    expect(reads).toBeLessThan(10 * count);
  });
});
