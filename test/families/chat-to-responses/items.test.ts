/** What a chat has that becomes several items of a response, or comes from several, over a server of responses alone. */
import { expect, test } from "vitest";
import { ask, eventsIn } from "../../support/ask.ts";
import { modelAt, upstreamAt, withProfile } from "../../support/gateway.ts";
import { eventStream, type ScriptedExchange } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { anthropicFrames } from "../../support/vendors.ts";

const part = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
const message = (id: string, phase: string, text: string) => ({
  ...{ id, type: "message", status: "completed", role: "assistant", phase },
  content: [part(text)],
});
const output = [message("msg_1", "commentary", "I look."), message("msg_2", "final_answer", "It is 12.")];
const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
const response = { id: "resp_1", object: "response", model: "m", status: "completed", output, usage };

const profile = { operations: { responses: "/responses" }, responses_items: "any", responses: "always" } as const;

const { upstream, gateway } = scriptedStage(
  (baseUrl) => ({ ...withProfile(upstreamAt(baseUrl), profile), models: [modelAt("far", "m")] }),
  { script: answer },
);

function answer(exchange: ScriptedExchange): void {
  const { stream } = exchange.asked;
  if (!stream) {
    exchange.json(200, response);
    return;
  }
  const events = [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    ...output.flatMap((item, output_index) => [
      { type: "response.output_item.added", output_index, item: { ...item, content: [] } },
      ...(item.content[0]?.text ?? "").split(" ").map((word, i) => ({
        ...{ type: "response.output_text.delta", output_index, content_index: 0, item_id: item.id },
        delta: i === 0 ? word : ` ${word}`,
      })),
      { type: "response.output_item.done", output_index, item },
    ]),
    { type: "response.completed", response },
  ];
  exchange.head(200, eventStream);
  exchange.end(anthropicFrames(...events.map((event, sequence_number) => ({ ...event, sequence_number }))));
}

async function send(path: string, body: object) {
  const asked = await ask(gateway, `/v1${path}`, { model: "m", ...body });
  expect([asked.status, asked.text]).toEqual([200, asked.text]);
  return { ...asked, sent: upstream.lastAsked };
}

const user = { role: "user", content: "how warm?" };

test("what the model says in several messages is kept apart", async () => {
  const whole = await send("/chat/completions", { messages: [user] });
  expect(JSON.parse(whole.text).choices[0].message.content).toBe("I look.\n\nIt is 12.");
  const streamed = await send("/chat/completions", { messages: [user], stream: true });
  const pieces = eventsIn(streamed.text).map(({ choices }) => choices[0]?.delta?.content ?? "");
  expect(pieces.join("")).toBe("I look.\n\nIt is 12.");
});

test("the image in a tool's result reaches the model", async () => {
  const url = "data:image/png;base64,iVBORw0KGgo=";
  const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } };
  const content = [
    { type: "text", text: "Here:" },
    { type: "image_url", image_url: { url } },
  ];
  const messages = [
    user,
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "c1", content },
  ];
  const { dropped, sent } = await send("/chat/completions", { messages });
  expect(dropped).toBeNull();
  expect(sent.input[2]).toEqual({
    type: "function_call_output",
    call_id: "c1",
    output: [
      { type: "input_text", text: "Here:" },
      { type: "input_image", image_url: url, detail: "auto" },
    ],
  });
});

test("a result of texts stays one text", async () => {
  const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } };
  const content = [
    { type: "text", text: "a" },
    { type: "text", text: "b" },
  ];
  const messages = [user, { role: "assistant", tool_calls: [call] }, { role: "tool", tool_call_id: "c1", content }];
  const { sent } = await send("/chat/completions", { messages });
  expect(sent.input[2].output).toBe("a\nb");
});

test("the vendor's marks and options of its prompt cache pass", async () => {
  const mark = { type: "explicit" };
  const options = { mode: "explicit", ttl: "12h" };
  const content = [{ type: "text", text: "hi", prompt_cache_breakpoint: mark }];
  const { dropped, sent } = await send("/chat/completions", {
    messages: [{ role: "user", content }],
    prompt_cache_options: options,
  });
  expect(dropped).toBeNull();
  expect(sent).toMatchObject({
    prompt_cache_options: options,
    input: [{ content: [{ type: "input_text", text: "hi", prompt_cache_breakpoint: mark }] }],
  });
});
