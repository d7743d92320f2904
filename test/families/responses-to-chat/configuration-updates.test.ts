/** Items that change effort and format in mid-conversation: a chat model gets what holds at the end. */
import { expect, test } from "vitest";
import { ask } from "../../support/ask.ts";
import { modelAt, upstreamAt, withProfile } from "../../support/gateway.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { chatAnswer } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage(
  (baseUrl) => ({
    ...withProfile(upstreamAt(baseUrl), { efforts: ["low", "medium", "high"] }),
    models: [modelAt("far", "m")],
  }),
  { script: (exchange) => exchange.json(200, chatAnswer({ content: "ok" })) },
);

test("the last word on each holds", async () => {
  const schema = { type: "object", properties: {}, additionalProperties: false };
  const format = { type: "json_schema", name: "out", schema, strict: true };
  const input = [
    { role: "user", content: "hi" },
    { type: "configuration_update", reasoning: { effort: "low" }, text: { format } },
    { role: "assistant", content: "hello" },
    { type: "configuration_update", reasoning: { effort: "high" } },
    { role: "user", content: "go on" },
  ];
  const body = { model: "m", store: false, reasoning: { effort: "medium" }, input };
  const { status, dropped, json } = await ask(gateway, "/v1/responses", body);
  expect([status, dropped]).toEqual([200, null]);
  expect(json).toMatchObject({ reasoning: { effort: "medium" } });
  const sent = upstream.lastAsked;
  expect(sent).toMatchObject({ reasoning_effort: "high", response_format: { json_schema: { name: "out", schema } } });
  expect(sent.messages.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant", "user"]);
});
