/** A server that tells the usage of its streams without being asked, and refuses the question: its callers are told what they are charged. */
import { expect, test } from "vitest";
import { eventsIn } from "../../support/ask.ts";
import { call } from "../../support/clients/families.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { servedBy } from "../../support/upstreams/strict-gateway.ts";
import { chatAnswer, chatChunk } from "../../support/vendors.ts";

const usage = { prompt_tokens: 31, completion_tokens: 7, total_tokens: 38 };

const { upstream, gateway } = scriptedStage(servedBy({ vendor: "mistral", model: "mistral-small-latest" }));

/** Returns the last usage that a caller is told; undefined where it is told none. */
async function told(family: "chat" | "messages" | "responses", isAsked: boolean) {
  const more = family === "chat" && isAsked ? { stream_options: { include_usage: true } } : {};
  const { text } = await call(gateway, { family, model: "m", stream: true, apiKey: gateway.apiKey, more });
  expect(upstream.lastAsked).not.toHaveProperty("stream_options");
  return eventsIn(text)
    .flatMap((event) => event.usage ?? event.response?.usage ?? [])
    .at(-1);
}

const forms = {
  "in the last chunk": () => {
    upstream.script = (exchange) =>
      exchange.stream(chatChunk({ role: "assistant", content: "Yes" }), chatChunk({ content: "." }, "stop", { usage }));
  },
  "in an answer that is no stream": () => {
    upstream.script = (exchange) => exchange.json(200, chatAnswer({ content: "Yes." }, "stop", { usage }));
  },
};

test.each(Object.entries(forms))("usage %s reaches callers of each family", async (_, answer) => {
  answer();
  const [input_tokens, output_tokens] = [usage.prompt_tokens, usage.completion_tokens];
  expect(await told("chat", true)).toMatchObject(usage);
  expect(await told("messages", true)).toMatchObject({ input_tokens, output_tokens });
  expect(await told("responses", true)).toMatchObject({ input_tokens, output_tokens });
});

test.each(Object.entries(forms))("usage %s is not told to a caller of chat who does not ask", async (_, answer) => {
  answer();
  expect(await told("chat", false)).toBeUndefined();
});
