/**
 * Servers that resemble Anthropic's number the blocks of a stream in their own ways, and tell the usage after the stop
 * reason. No caller loses a block or the reason.
 */
import { describe, expect, test } from "vitest";
import { type Any, eventsStage, type Json } from "../../support/upstreams/events-stage.ts";
import { blockEvents, messageEnd, messageStart } from "../../support/vendors.ts";

const { ask } = eventsStage();

const piece = '{"city":"Rome"}';
const text = (index: number) => blockEvents(index, { type: "text", text: "" }, { type: "text_delta", text: "Hello" });
const tool = (index: number) =>
  blockEvents(
    index,
    { type: "tool_use", id: "t", name: "weather", input: {} },
    { type: "input_json_delta", partial_json: piece },
  );
const withoutIndex = ({ index: _, ...event }: Json) => event;
const isNoStop = ({ type }: Json) => type !== "content_block_stop";

describe.each<[string, Json[]]>([
  ["one index", [...text(0), ...tool(0)]],
  ["one index, and no end", [...text(0), ...tool(0)].filter(isNoStop)],
  ["indices with a gap", [...text(0), ...tool(3)]],
  ["indices from one on", [...text(1), ...tool(2)]],
  ["no index", [...text(0), ...tool(0)].map(withoutIndex)],
  ["indices in order", [...text(0), ...tool(1)]],
])("two blocks with %s", (_, blocks) => {
  const events = [messageStart(), ...blocks, ...messageEnd("tool_use")];

  test("are two in a stream, numbered in order", async () => {
    const told = (await ask(true, ...events)).filter(({ type }) => type.startsWith("content_block_"));
    expect(told.filter(isNoStop).map(({ index, delta = {} }) => [index, delta.text ?? delta.partial_json])).toEqual([
      [0, undefined],
      [0, "Hello"],
      [1, undefined],
      [1, piece],
    ]);
  });

  test("are two in a message", async () => {
    const [{ content }] = await ask(false, ...events);
    expect(content.map((block: Any) => block.text ?? block.input)).toEqual(["Hello", { city: "Rome" }]);
  });
});

test.each([true, false])("a usage after the stop reason does not take the reason back; stream: %s", async (stream) => {
  const [end = {}, stop = {}] = messageEnd("max_tokens");
  const usage = { input_tokens: 9, output_tokens: 5 };
  const after = { type: "message_delta", delta: { stop_reason: null, stop_sequence: null }, usage };
  const told = await ask(stream, messageStart(), ...text(0), { ...end, usage: { output_tokens: 0 } }, after, stop);
  const last = stream ? told.findLast(({ type }) => type === "message_delta") : told[0];
  expect([(last.delta ?? last).stop_reason, last.usage.output_tokens]).toEqual(["max_tokens", 5]);
});
