/**
 * What upstreams and proxies put around the frames of a stream, or between them, costs no caller the answer; and errors
 * in places of single vendors' are told, with their words.
 */
import { describe, expect, test } from "vitest";
import { call, isTold } from "../../support/clients/families.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { anthropicFrames, chatChunk, done, helloEvents, openaiFrames, usageChunk } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage();

const callers = ["chat", "messages", "responses"] as const;

async function textTo(family: (typeof callers)[number], model: string, bytes: string) {
  upstream.script = (exchange) => {
    exchange.head(200, eventStream);
    exchange.end(bytes);
  };
  return call(gateway, { family, model, stream: true, apiKey: gateway.apiKey });
}

const begun = chatChunk({ role: "assistant", content: "Hel" });
const more = chatChunk({ content: "lo" }, "stop");
const end = openaiFrames(usageChunk()) + done;
const keepAlives = ["data: ping\n\n", "data: : OPENROUTER PROCESSING\n\n", "data:  \n\n", "data: null\n\n"].concat([
  "data: [HEARTBEAT]\n\n",
  "event: ping\ndata: 2026-11-27 15:33:27.123456\n\n",
  "event: keepalive\ndata: 1\n\n",
]);

describe("an answer is whole with", () => {
  test.each(keepAlives)("the keep-alive %j", async (keepAlive) => {
    for (const family of callers) {
      const answer = await textTo(family, "gpt", openaiFrames(begun) + keepAlive + openaiFrames(more) + end);
      expect(isTold(answer, family, true), answer.text).toBe(true);
      expect(answer.text).toContain('"lo"');
      const [start, ...rest] = helloEvents;
      const events = anthropicFrames(start as object as typeof begun) + keepAlive + anthropicFrames(...rest);
      const other = await textTo(family, "claude", events);
      expect(isTold(other, family, true), other.text).toBe(true);
    }
  });

  const json = (chunk: object) => JSON.stringify(chunk);
  test.each([
    ["the field's name twice", `data: data: ${json(begun)}\n\ndata: data: ${json(more)}\n\ndata: data: [DONE]\n\n`],
    ["two objects in a line", `data: ${json(begun)}${json(more)}\n\n${done}`],
    ["two frames in a line", `data: ${json(begun)} data: ${json(more)}\n\n${done}`],
    ["an end mark in quotation marks", `${openaiFrames(begun, more)}data: "[DONE]"\n\n`],
  ])("%s", async (_, bytes) => {
    for (const family of callers) {
      const answer = await textTo(family, "gpt", bytes);
      expect(isTold(answer, family, true), answer.text).toBe(true);
      expect(answer.text).toContain('"Hel"');
      expect(answer.text).toContain('"lo"');
    }
  });
});

const words = "the engine died";

describe("an error in the midst of an answer is told, as", () => {
  test.each<[string, string]>([
    ["Groq's", openaiFrames(chatChunk({}, "stop", { x_groq: { id: "req_1", error: words } }))],
    ["MiniMax's", openaiFrames({ ...chatChunk({}), choices: [], base_resp: { status_code: 1013, status_msg: words } })],
    ["one beside no choices", openaiFrames({ ...chatChunk({}), choices: [], code: 500, message: words })],
    ["one within a delta", openaiFrames(chatChunk({ error: { message: words } }))],
    ["llama.cpp's, in a field of its own", `error: ${JSON.stringify({ code: 500, message: words })}\n\n`],
  ])("%s", async (_, frame) => {
    for (const family of callers) {
      const answer = await textTo(family, "gpt", openaiFrames(begun) + frame + end);
      expect(isTold(answer, family, true), answer.text).toBe(false);
      expect(answer.text).toContain(words);
    }
  });
});

test("a chunk that only tells of filters, as Azure's first, is no error", async () => {
  const filters = { ...chatChunk({}), choices: [], model: "", prompt_filter_results: [{ prompt_index: 0 }] };
  for (const family of callers) {
    const answer = await textTo(family, "gpt", openaiFrames(filters, begun, more) + end);
    expect(isTold(answer, family, true), answer.text).toBe(true);
  }
});
