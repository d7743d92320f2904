/**
 * The estimate of a prompt's tokens that streams begin with is near a tokenizer's count, and takes almost no time.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { estimatePromptTokens, promptTokens } from "../../../src/tokens/prompt.ts";
import { loadTokenizer } from "../../../src/tokens/tokenizer.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { cpuMsOf } from "../../support/run/cpu-time.ts";

const asked = (content: string, more: JsonObject = {}) =>
  Wire.ofJson(CreateChatCompletionRequestSchema, { model: "m", messages: [{ role: "user", content }], ...more });

const parameters: JsonObject = {
  type: "object",
  properties: { city: { type: "string", description: "The city's name in English" }, days: { type: "integer" } },
  required: ["city", "days"],
  additionalProperties: false,
};
const tools = ["get_weather", "get_forecast"].map((name) => ({ type: "function", function: { name, parameters } }));

const requests: Readonly<Record<string, Wire<typeof CreateChatCompletionRequestSchema>>> = {
  English: asked("What is the weather like in Oslo today, and should I take an umbrella when I leave the house?"),
  German: asked("Wie ist das Wetter heute in Oslo, und sollte ich einen Regenschirm mitnehmen, wenn ich gehe?"),
  Chinese: asked("奥斯陆今天天气怎么样？我出门的时候应该带一把雨伞吗？请用一句话回答我。"),
  Japanese: asked("今日のオスロの天気はどうですか。家を出るときに傘を持って行くべきでしょうか。"),
  JSON: asked(JSON.stringify(tools)),
  "tools beside a question": asked("Which of these would you call for Oslo?", { tools }),
};

for (const [name, request] of Object.entries(requests)) {
  test(`of ${name} is within a quarter of the count`, async () => {
    const counted = await promptTokens(request, await loadTokenizer(), AbortSignal.timeout(60_000));
    expect(Math.abs(estimatePromptTokens(request) / counted - 1)).toBeLessThan(0.25);
  });
}

test("counts what is around the texts as the count does", async () => {
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(10_000)}` } };
  const request = Wire.ofJson(CreateChatCompletionRequestSchema, {
    model: "m",
    messages: [
      { role: "system", content: "" },
      { role: "user", content: [image, image], name: "abcd" },
    ],
  });
  // 3 to prime the answer; two messages with their roles; two pictures; a name, and that there is one.
  expect(estimatePromptTokens(request)).toBe(3 + 2 * 4 + 2 * 85 + 1 + 1);
  expect(await promptTokens(request, await loadTokenizer(), AbortSignal.timeout(60_000))).toBe(183);
});

test("of a very long prompt takes no longer than reading it", async () => {
  const text = "在这个世界上没有什么比阅读更让人快乐的事情了。".repeat(200_000);
  const request = asked(text);
  request.message();
  const cpuMs = await cpuMsOf(() => expect(estimatePromptTokens(request)).toBeGreaterThan(3_000_000));
  // A tokenizer takes half a minute for it.
  expect(cpuMs).toBeLessThan(10_000);
});
