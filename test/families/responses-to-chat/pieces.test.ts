/** A streamed response whose tool input comes in very many pieces costs in proportion to their number. */
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { CallItem } from "../../../src/families/responses-to-chat/answer/call-item.ts";
import { Calls } from "../../../src/families/responses-to-chat/answer/tool-calls.ts";

const piece = "0123456789";

/** Passes a call in so many pieces, and each event to `onEvent`. */
function take(pieces: number, onEvent: (event: JsonObject) => void = () => {}): void {
  const tool = { kind: "function", namespace: undefined, isWrapped: false } as const;
  const calls = new Calls((id, name) => new CallItem(0, "x", { ...tool, name }, id));
  for (let i = 0; i < pieces; i++) {
    for (const event of calls.take({ index: 0, id: "call_1", name: "f", input: piece, signature: "" })) onEvent(event);
  }
}

test("each piece is reported once, as it came", () => {
  const events: JsonObject[] = [];
  take(1000, (event) => events.push(event));
  const deltas = events.filter(({ type }) => type === "response.function_call_arguments.delta");
  expect(deltas.map(({ delta }) => delta)).toEqual(Array.from({ length: 1000 }, () => piece));
});

test("sixteen times as many pieces take about sixteen times as long", () => {
  const took = (pieces: number) => {
    const started = performance.now();
    take(pieces);
    return performance.now() - started;
  };
  const least = (pieces: number) => Math.min(...[1, 2, 3].map(() => took(pieces)));
  least(10_000); // Compiled by now.
  // Reading the whole input again for each piece would take many hundred times as long.
  expect(least(160_000) / least(10_000)).toBeLessThan(150);
});
