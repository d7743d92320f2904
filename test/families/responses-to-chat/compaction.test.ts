/** Conversations that have grown too long: one item stands for them, and continues at any target. */
import { describe, expect, test } from "vitest";
import { ask, eventsIn } from "../../support/ask.ts";
import { upstreamAt } from "../../support/gateway.ts";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { chatAnswer, chatChunk } from "../../support/vendors.ts";

interface Json {
  readonly [key: string]: Json & string;
}

let said = "We fixed a.txt; b.txt is left.";

const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };

const { upstream, gateway } = scriptedStage(upstreamAt, { script: summarise });

function summarise(exchange: ScriptedExchange): void {
  const { stream } = exchange.asked;
  const thought = { reasoning_content: "hm" };
  const pieces = [thought, ...Array.from(said, (content) => ({ content }))].map((delta) => chatChunk(delta));
  if (!stream) exchange.json(200, chatAnswer({ content: said, ...thought }, "stop", { usage }));
  else exchange.stream(...pieces, chatChunk({}, "stop", { usage }));
}

async function send(body: object, path = "/responses") {
  const asked = await ask(gateway, `/v1${path}`, { model: "embedded-chat", ...body });
  return { ...asked, sent: upstream.lastAsked };
}

const trigger = { type: "compaction_trigger" };
const history = [
  { type: "message", role: "developer", content: "You are an agent." },
  { type: "message", role: "user", content: "fix both" },
  { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
  { type: "function_call_output", call_id: "c1", output: "done" },
];
const tools = [{ type: "function", name: "f", parameters: { type: "object", properties: {} } }];
const text = { format: { type: "json_schema", name: "n", schema: { type: "object" } } };

describe("a trigger at the end", () => {
  test("has the conversation summarised, without tools or a format, into a single item", async () => {
    const { text: told, sent } = await send({ input: [...history, trigger], tools, tool_choice: "required", text });
    const { output, status } = JSON.parse(told);
    expect(status).toBe("completed");
    expect(output).toEqual([
      { id: expect.stringMatching(/^cmp_/), type: "compaction", encrypted_content: expect.stringMatching(/^summary:/) },
    ]);
    expect(Object.keys(sent)).toEqual(["model", "messages"]);
    expect(sent.messages.map(({ role }: Json) => role)).toEqual(["system", "user", "assistant", "tool", "user"]);
  });

  test("is answered the same way in a stream, with the usage at its end", async () => {
    const { text: told } = await send({ input: [...history, trigger], tools, stream: true });
    const events = eventsIn(told);
    expect(events.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.output_item.done",
      "response.completed",
    ]);
    expect(events[3].item.type).toBe("compaction");
    expect(events[4].response.output).toEqual([events[3].item]);
    expect(events[4].response.usage.total_tokens).toBe(13);
  });

  test("fails where the model says nothing", async () => {
    const before = said;
    said = " ";
    expect((await send({ input: [...history, trigger] })).status).toBe(502);
    said = before;
  });
});

test("its own path returns the user's messages and the item, and stores nothing", async () => {
  const { status, text: told } = await send({ input: history }, "/responses/compact");
  expect(status).toBe(200);
  const { id, object, output, usage: counted } = JSON.parse(told);
  expect(object).toBe("response.compaction");
  expect(output).toEqual([
    expect.objectContaining({ role: "user", content: [{ type: "input_text", text: "fix both" }] }),
    expect.objectContaining({ type: "compaction" }),
  ]);
  expect(counted.total_tokens).toBe(13);
  const kept = await fetch(`${gateway.baseUrl}/responses/${id}`, {
    headers: { authorization: `Bearer ${gateway.apiKey}` },
  });
  expect(kept.status).toBe(404);
  const { sent } = await send({ input: [...output, { role: "user", content: "go on" }] });
  expect(JSON.stringify(sent.messages)).toContain(said);
});

describe("the item", () => {
  const compacted = async () => JSON.parse((await send({ input: [...history, trigger] })).text);

  test("reaches the model as its summary, at any target", async () => {
    const [item] = (await compacted()).output;
    const { sent } = await send({ input: [history[0], item, { role: "user", content: "go on" }] });
    expect(sent.messages[1].content).toContain(said);
    expect(sent.messages.at(-1).content).toContain("go on");
  });

  test("stands for everything before it where a request continues its response", async () => {
    const { id } = await compacted();
    const { sent, status } = await send({ previous_response_id: id, input: "go on" });
    expect(status).toBe(200);
    expect(JSON.stringify(sent.messages)).not.toContain("fix both");
    expect(JSON.stringify(sent.messages)).toContain(said);
    expect(sent.messages[0]).toEqual({ role: "system", content: "You are an agent." });
  });

  test.for([{ encrypted_content: "gAAAA" }, {}])(
    "is dropped and named where another server made it: %j",
    async (made) => {
      const { status, dropped } = await send({
        input: [
          { type: "compaction", ...made },
          { role: "user", content: "x" },
        ],
      });
      expect({ status, dropped }).toEqual({ status: 200, dropped: "input[0]" });
    },
  );

  test("cannot be requested in the middle", async () => {
    const { status, text: told } = await send({ input: [trigger, { role: "user", content: "x" }] });
    expect(status).toBe(400);
    expect(JSON.parse(told).error.param).toBe("input[0]");
  });
});
