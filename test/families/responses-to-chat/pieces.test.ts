/** A streamed response whose tool input comes in very many pieces costs in proportion to their number. */
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { CallItem } from "../../../src/families/responses-to-chat/answer/call-item.ts";
import { Calls } from "../../../src/families/responses-to-chat/answer/tool-calls.ts";

const piece = "0123456789";

/** Passes a call in so many pieces, and each event to `onEvent`. */
function take(pieces: number, onEvent: (event: JsonObject) => void = () => {}, idOf = (_: number) => "call_1"): void {
  const tool = { kind: "function", namespace: undefined, isWrapped: false } as const;
  const calls = new Calls((id, name) => new CallItem(0, "x", { ...tool, name }, id));
  for (let i = 0; i < pieces; i++) {
    for (const event of calls.take({ index: 0, id: idOf(i), name: "f", input: piece, signature: "" })) onEvent(event);
  }
}

test("each piece is reported once, as it came", () => {
  const events: JsonObject[] = [];
  take(1000, (event) => events.push(event));
  const deltas = events.filter(({ type }) => type === "response.function_call_arguments.delta");
  expect(deltas.map(({ delta }) => delta)).toEqual(Array.from({ length: 1000 }, () => piece));
});

test.each([
  ["the call's id", () => "call_1"],
  ["an id of its own", (i: number) => `call_${i}`],
])("a call of 400,000 pieces, each with %s, is taken in a moment", (_, idOf) => {
  let taken = 0;
  // Reading all input so far for each piece would read 800 GB: the time limit of a test bounds that.
  take(400_000, () => taken++, idOf);
  expect(taken).toBeGreaterThan(400_000);
});
