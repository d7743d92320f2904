import { expect, test } from "vitest";
import { hasToolTurns } from "../../../src/call/tools/has-tool-turns.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";

const talk = [
  { role: "system", content: "Be brief" },
  { role: "user", content: "Hi" },
  { role: "assistant" },
  null,
  "Hi",
  7,
];

test("a chat of words alone, whatever else is in its list, has no turns of tools", () => {
  expect(runNow(hasToolTurns(talk))).toBe(false);
  expect(runNow(hasToolTurns([]))).toBe(false);
});

test.each([
  { role: "assistant", tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "" } }] },
  { role: "assistant", tool_calls: null },
  { role: "tool", content: "12 °C" },
])("a call or a result is found wherever it stands: %j", (turn) => {
  const long = Array.from({ length: 200 }, () => ({ role: "user", content: "Hi" }));
  expect(runNow(hasToolTurns([turn, ...talk]))).toBe(true);
  expect(runNow(hasToolTurns([...long, turn]))).toBe(true);
});
