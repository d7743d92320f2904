/** What Claude uses to compact a conversation stands in `usage.iterations` alone, and is charged with the rest. */
import { beforeAll, describe, expect, test } from "vitest";
import { openAccount, type Payer } from "../../support/payer.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { cost } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

let payer: Payer;

const { upstream, gateway, books } = scriptedStage();

beforeAll(async () => {
  payer = await openAccount(gateway);
});

const compaction = {
  type: "compaction",
  input_tokens: 30,
  output_tokens: 7,
  cache_read_input_tokens: 100,
  cache_creation_input_tokens: 5,
  cache_creation: { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 3 },
};
const reply = { type: "message", input_tokens: 20, output_tokens: 4, cache_read_input_tokens: 0 };
const usage = { input_tokens: 20, output_tokens: 4, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
const content = [
  { type: "compaction", content: "All of it, in short.", encrypted_content: null },
  { type: "text", text: "ok" },
];
const message = { id: "msg_1", type: "message", role: "assistant", model: "c", content, stop_reason: "end_turn" };
const compacted = { ...usage, iterations: [compaction, reply] };

function answerWith(told: object, early: object = usage): void {
  upstream.script = (exchange) => {
    const { stream } = exchange.asked;
    if (!stream) return exchange.json(200, { ...message, usage: told });
    const events = [
      { type: "message_start", message: { ...message, content: [], stop_reason: null, usage: early } },
      { type: "content_block_start", index: 0, content_block: { type: "compaction", content: null } },
      { type: "content_block_delta", index: 0, delta: { type: "compaction_delta", content: "All of it, in short." } },
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "ok" } },
      { type: "content_block_stop", index: 1 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: told },
      { type: "message_stop" },
    ];
    exchange.head(200, eventStream);
    exchange.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
  };
}

/** The last answer. */
let heard = "";
const said = "x".repeat(900);

async function costOf(path: string, stream: boolean): Promise<number> {
  const before = await spent();
  const answer = await fetch(`${gateway.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${payer.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      ...{ model: "claude", stream },
      ...(path === "/responses"
        ? { max_output_tokens: 50, input: said }
        : { max_tokens: 50, messages: [{ role: "user", content: said }] }),
      context_management: { edits: [{ type: "compact_20260112" }] },
    }),
  });
  expect(answer.status).toBe(200);
  heard = await answer.text();
  return (await spent()) - before;
}

async function spent(): Promise<number> {
  const { requests } = await books.of(payer);
  return requests.reduce((sum, { cost: charged }) => sum + charged, 0);
}

const ofReply = 20 * cost.input + 4 * cost.output;
const ofCompaction =
  30 * cost.input + 7 * cost.output + 100 * cost.cacheRead + 2 * cost.cacheWrite + 3 * cost.cacheWriteHour;

describe.each(["/messages", "/chat/completions"])("a call by %s", (path) => {
  test.each([false, true])("is charged for the compaction and the reply, stream: %s", async (stream) => {
    answerWith(compacted);
    expect(await costOf(path, stream)).toBe(ofReply + ofCompaction);
  });

  test.each([false, true])("is charged for the reply alone where nothing was compacted, stream: %s", async (stream) => {
    answerWith({ ...usage, iterations: [reply] });
    expect(await costOf(path, stream)).toBe(ofReply);
  });
});

test("a stream that lists the compaction twice is charged for it once", async () => {
  answerWith(compacted, { ...usage, output_tokens: 1, iterations: [compaction] });
  expect(await costOf("/messages", true)).toBe(ofReply + ofCompaction);
});

test("a stream that begins with the input of the compaction is charged for it once", async () => {
  const { type: _, ...ofItsBeginning } = compaction;
  answerWith(compacted, { ...ofItsBeginning, output_tokens: 1 });
  expect(await costOf("/messages", true)).toBe(ofReply + ofCompaction);
  expect(await costOf("/chat/completions", true)).toBe(ofReply + ofCompaction);
});

test.each([
  ["leaves it out", { output_tokens: 4 }],
  ["has null", { input_tokens: null, output_tokens: 4 }],
  ["has zeros", { ...usage, input_tokens: 0 }],
])("the input of the reply is that of its iteration where the end of the stream %s", async (_, told) => {
  const { type: __, ...ofItsBeginning } = compaction;
  answerWith({ ...told, iterations: [compaction, reply] }, { ...ofItsBeginning, output_tokens: 1 });
  expect(await costOf("/messages", true)).toBe(ofReply + ofCompaction);
});

test("a reply behind a compaction is charged for what it wrote to the cache for an hour", async () => {
  const writing = { ...reply, cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 9 } };
  const { type: _, ...ofItsBeginning } = compaction;
  answerWith({ ...usage, cache_creation_input_tokens: 13, iterations: [compaction, writing] }, ofItsBeginning);
  const written = 4 * cost.cacheWrite + 9 * cost.cacheWriteHour;
  expect(await costOf("/messages", true)).toBe(ofReply + written + ofCompaction);
});

test("what a stream does not report of its own is not what the compaction took", async () => {
  const { output_tokens: _, ...untold } = usage;
  answerWith({ ...untold, iterations: [compaction] }, { ...usage, output_tokens: 90 });
  expect(await costOf("/messages", true)).toBe(20 * cost.input + 90 * cost.output + ofCompaction);
  expect(await costOf("/responses", true)).toBe(20 * cost.input + 90 * cost.output + ofCompaction);
  expect(heard).toContain('"output_tokens":97');
  // The input is counted then: some 120 tokens of 900 letters.
  answerWith({ output_tokens: 4, iterations: [compaction] }, {});
  expect(await costOf("/messages", true)).toBeGreaterThan(100 * cost.input);
});

test("iterations that are none are no usage", async () => {
  answerWith({ ...usage, iterations: [null, "x", { type: "compaction", input_tokens: -5, output_tokens: 1e300 }] });
  expect(await costOf("/messages", false)).toBe(ofReply);
});
