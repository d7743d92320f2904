/** Tools are held, priced and refused alike wherever a request has them. */
import { describe, expect, test } from "vitest";
import { hasTools } from "../../../src/call/tools/tools-anywhere.ts";
import { usesVendorTools } from "../../../src/ledger/worst-case.ts";
import { withoutIdleSettings } from "../../../src/providers/anthropic/idle-settings.ts";
import { requestedManner, toolOfOtherModels } from "../../../src/providers/usage/manner.ts";
import type { JsonObject } from "../../../src/wire/json.ts";

const added = (definition: JsonObject) => ({ type: "tool_addition", tool: { type: "tool_definition", definition } });
const own = { type: "custom", name: "mine", input_schema: { type: "object" } };

const places: Readonly<Record<string, (tool: JsonObject) => JsonObject>> = {
  "in the list": (tool) => ({ tools: [own, tool] }),
  "in a namespace": (tool) => ({ tools: [{ type: "namespace", name: "n", tools: [own, tool] }] }),
  "in an item of the input": (tool) => ({ input: [{ type: "additional_tools", role: "developer", tools: [tool] }] }),
  "in a message": (tool) => ({ messages: [{ role: "system", tools: [tool] }] }),
  "in a block that adds it": (tool) => ({ messages: [{ role: "system", content: [added(own), added(tool)] }] }),
  "in a compaction": (tool) => ({
    messages: [{ role: "assistant", content: [{ type: "compaction", content: "All.", tool_changes: [added(tool)] }] }],
  }),
};

describe.each(Object.entries(places))("a tool %s", (_, request) => {
  test("that searches is counted, by its bound", () => {
    const tool = { type: "web_search_20260318", name: "web_search", max_uses: 3 };
    expect(requestedManner(request(tool)).searches).toBe(3);
    expect(usesVendorTools(request(tool))).toBe(true);
  });

  test("that calls another model is seen", () => {
    const tool = { type: "advisor_20260301", name: "advisor", model: "claude-fable-5-1" };
    expect(toolOfOtherModels(request(tool))).toBe("advisor_20260301");
  });

  test("of the caller's is none of the vendor's", () => {
    expect([usesVendorTools(request(own)), requestedManner(request(own)).searches]).toEqual([false, 0]);
    expect(toolOfOtherModels(request(own))).toBeUndefined();
  });

  test("is offered: the model may need another operation for it, and a choice is among it", () => {
    expect(hasTools(request(own))).toBe(true);
    const asked = { ...request(own), tool_choice: { type: "none" } };
    expect(withoutIdleSettings(asked, "claude-opus-5").changes).toEqual({});
  });
});
