/** Claude's generations differ in the efforts that they take, and in whether they may be forced to call a tool, as the vendor documents. */
import { describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { chatToMessages } from "../../../src/families/chat-to-messages/index.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { context } from "../../support/translations/context.ts";

/** asked returns what a model is asked, and what is left out. */
function asked(model: string, more: JsonObject) {
  const request = { model, messages: [{ role: "user", content: "hi" }], max_tokens: 9000, ...more };
  const wire = Wire.ofJson(CreateChatCompletionRequestSchema, request);
  const { request: sent, dropped } = runNow(chatToMessages.translate(wire, context));
  return { sent: sent.json(), dropped };
}

const adaptive = { type: "adaptive", display: "summarized" };

describe("no effort", () => {
  test.each<[model: string, thinking: JsonObject | undefined, effort?: string]>([
    ["claude-haiku-4-5", undefined],
    ["claude-opus-4-8", undefined],
    ["claude-some", undefined],
    ["claude-sonnet-5", { type: "disabled" }],
    ["claude-opus-5", { type: "disabled" }],
    ["claude-haiku-5-5", { type: "disabled" }],
    ["claude-sonnet-5-5", { type: "between_tools" }],
    ["us.anthropic.claude-sonnet-5-5-v1:0", { type: "between_tools" }],
    ["claude-opus-5-5", undefined, "low"],
    ["claude-fable-5", undefined, "low"],
    ["claude-fable-5-1", undefined, "low"],
    ["claude-mythos-5", undefined, "low"],
  ])("of %s is %j", (model, thinking, effort) => {
    for (const more of [{ reasoning_effort: "none" }, { reasoning: { enabled: false } }]) {
      const { sent, dropped } = asked(model, more);
      expect([sent.thinking, sent.output_config]).toEqual([thinking, effort === undefined ? undefined : { effort }]);
      expect(dropped).toEqual([]);
    }
    const { sent } = asked(model, {});
    expect([sent.thinking, sent.output_config]).toEqual([undefined, undefined]);
  });

  test("yields to the caller's own thinking", () => {
    const { sent } = asked("claude-sonnet-5", { reasoning_effort: "none", thinking: { type: "adaptive" } });
    expect(sent.thinking).toEqual({ type: "adaptive" });
  });
});

test.each([
  ["claude-sonnet-4-6", "high"],
  ["claude-opus-4-6", "high"],
  ["claude-opus-4-7", "xhigh"],
  ["claude-sonnet-5", "xhigh"],
  ["claude-some", "xhigh"],
])("of %s the effort xhigh is %s", (model, effort) => {
  const { sent, dropped } = asked(model, { reasoning_effort: "xhigh" });
  expect([sent.thinking, sent.output_config, dropped]).toEqual([adaptive, { effort }, []]);
  expect(asked(model, { reasoning_effort: "max" }).sent.output_config).toEqual({ effort: "max" });
});

test.each([
  ["claude-3-haiku-20240307", false],
  ["anthropic.claude-3-5-sonnet-20240620-v1:0", false],
  ["claude-3.5-haiku", false],
  ["claude-2.1", false],
  ["claude-3-7-sonnet-20250219", true],
  ["claude-sonnet-4-0", true],
])("%s thinks: %s", (model, thinks) => {
  const { sent, dropped } = asked(model, { reasoning_effort: "low" });
  const budget = { type: "enabled", budget_tokens: 1024 };
  expect([sent.thinking, dropped]).toEqual(thinks ? [budget, []] : [undefined, ["reasoning_effort"]]);
});

test.each<[model: string, thinking: boolean, plain: boolean]>([
  ["claude-haiku-4-5", false, true],
  ["claude-sonnet-4-6", true, true],
  ["claude-opus-5", true, true],
  ["claude-haiku-5-5", true, true],
  ["claude-some", false, true],
  ["claude-opus-5-5", false, false],
  ["claude-sonnet-5-5", false, false],
  ["claude-fable-5", false, false],
])("%s can be made to call a tool: %s while it thinks, %s else", (model, thinking, plain) => {
  const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];
  const forced = { tools, tool_choice: "required" };
  for (const [more, can] of [
    [{ reasoning_effort: "low" }, thinking],
    [{}, plain],
  ] as const) {
    const { sent, dropped } = asked(model, { ...forced, ...more });
    expect([sent.tool_choice, dropped]).toEqual([{ type: can ? "any" : "auto" }, can ? [] : ["tool_choice"]]);
  }
});
