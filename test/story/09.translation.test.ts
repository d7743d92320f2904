/** A caller of one family over a model of another: translated both ways, and nothing is lost unsaid. */
import { expect, test } from "vitest";
import { ask } from "../support/ask.ts";
import { answerAsAny } from "../support/upstreams/one-of-each.ts";
import { paidModels } from "../support/upstreams/paid-models.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";

const { upstream, gateway } = scriptedStage(paidModels, { script: answerAsAny });

const messages = [{ role: "user", content: "Say hello." }];
const asked = () => upstream.lastAsked;

test("within a family the request goes on as it came, but for the model's name", async () => {
  const body = { model: "gpt", messages, max_completion_tokens: 9, top_k: 5, a_key_of_tomorrow: { deep: [1] } };
  expect((await ask(gateway, "/v1/chat/completions", body)).status).toBe(200);
  expect(asked()).toEqual({ ...body, model: "v-gpt" });
});

test("a chat reaches a model behind the Messages API, and is answered as a chat", async () => {
  const body = { model: "claude", messages: [{ role: "system", content: "Be brief." }, ...messages] };
  const { json } = await ask(gateway, "/v1/chat/completions", body);
  expect(upstream.received.at(-1)?.path).toBe("/v1/messages");
  expect(asked()).toMatchObject({ model: "v-claude", max_tokens: 4096, system: [{ text: "Be brief." }] });
  expect(json).toMatchObject({ object: "chat.completion", choices: [{ message: { content: "Hello" } }] });
});

test("a message reaches a model behind the chat API, and streams as messages do", async () => {
  const { text } = await ask(gateway, "/v1/messages", { model: "gpt", max_tokens: 9, messages, stream: true });
  expect(upstream.received.at(-1)?.path).toBe("/v1/chat/completions");
  const events = [...text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name);
  expect(events[0]).toBe("message_start");
  expect(events.at(-1)).toBe("message_stop");
});

test("what the other family cannot be told is named in a header, or refused where that is wished", async () => {
  const body = { model: "claude", messages, seed: 7 };
  const { status, headers } = await ask(gateway, "/v1/chat/completions", body);
  expect([status, headers.get("x-gateway-dropped")]).toEqual([200, "seed"]);
  const strict = await ask(gateway, "/v1/chat/completions", body, { headers: { "x-gateway-strict": "true" } });
  expect([strict.status, strict.json.error.param]).toEqual([400, "seed"]);
});
