/** Chunks that are read by a template say what a parser would read, and all others are left to the parser. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createTemplateReader } from "../../../src/providers/openai/delta-template.ts";
import { findTemplate } from "../../../src/wire/scan/delta-template.ts";
import { dataFrame } from "../../../src/wire/sse.ts";

const chunk = (delta: object, more: object = {}, choice: object = {}) =>
  Buffer.from(JSON.stringify({ id: "c", choices: [{ index: 0, delta, finish_reason: null, ...choice }], ...more }));

/** Returns a reader that has learnt from this chunk. */
function learnt(from: Buffer, seen = from) {
  const alike = createTemplateReader();
  alike.learn(JSON.parse(from.toString()), from, seen);
  return alike;
}

const escaped = Buffer.from(
  chunk({ content: "#" }, { x: { content: "A" } })
    .toString()
    .replace("#", "\\u0041"),
);
const twice = Buffer.from(chunk({ content: "A" }).toString().replace('"A"', '"A","content":"\\u0041"'));

test("a template is kept for a stream's whole life, and keeps nothing else alive", () => {
  const from = chunk({ content: "first" });
  const { before, after } = findTemplate("content", "first", from) as NonNullable<ReturnType<typeof findTemplate>>;
  expect(`${before}second${after}`).toBe(String(chunk({ content: "second" })));
  for (const kept of [before, after]) expect(kept.buffer.byteLength).toBeLessThanOrEqual(from.length);
});

describe("a chunk that differs from one before", () => {
  test.each(["content", "reasoning_content", "reasoning"])(
    "in its %s alone is read, and passed on as it came",
    (key) => {
      const next = chunk({ [key]: "zweites, 二番目" });
      const read = learnt(chunk({ [key]: "first" })).read(next);
      expect(read).toMatchObject({ text: "zweites, 二番目", frame: undefined });
    },
  );

  test("is passed on without what its caller must not see", () => {
    const read = learnt(chunk({ content: "a" }, { usage: null }), chunk({ content: "a" })).read(
      chunk({ content: "b" }, { usage: null }),
    );
    expect(read).toMatchObject({ text: "b", frame: dataFrame(chunk({ content: "b" })) });
  });

  test.each<[string, Buffer]>([
    ["says the finish", chunk({ content: "b" }, {}, { finish_reason: "stop" })],
    ["tells the usage", chunk({ content: "b" }, { usage: { prompt_tokens: 1 } })],
    ["is an error", Buffer.from('{"error":{"message":"no"}}')],
    ["calls a tool", chunk({ content: "b", tool_calls: [{ index: 0, function: { arguments: "{}" } }] })],
    ["belongs to another choice", chunk({ content: "b" }, {}, { index: 1 })],
    ["has escapes in its text", chunk({ content: 'b"' })],
    ["is no JSON", Buffer.from(chunk({ content: "b" }).toString().replace('"b"', '"b"c"'))],
    ["is no UTF-8", Buffer.from(chunk({ content: "\xff" }).toString(), "latin1")],
    ["is cut", chunk({ content: "b" }).subarray(0, -1)],
    ["says nothing", Buffer.from("[DONE]")],
  ])("is left to a parser where it %s", (_, other) => {
    expect(learnt(chunk({ content: "a" })).read(other)).toBeUndefined();
  });

  test.each<[string, Buffer]>([
    ["says more than a text", chunk({ content: "a", refusal: "b" })],
    ["tells how likely its tokens are", chunk({ content: "a" }, {}, { logprobs: { content: [] } })],
    ["finishes", chunk({ content: "a" }, {}, { finish_reason: "stop" })],
    ["says the same at two places", chunk({ content: "a" }, { message: { content: "a" } })],
    ["says it with an escape, and elsewhere without", escaped],
    ["says it twice, and the last time with an escape", twice],
  ])("is left to a parser where the one before %s", (_, first) => {
    expect(learnt(first).read(first)).toBeUndefined();
  });

  test("is never read differently than a parser reads it", () => {
    const before = chunk({ role: "assistant", content: "first" });
    const alike = learnt(before);
    const at = before.indexOf("first");
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
        const next = Buffer.concat([before.subarray(0, at), bytes, before.subarray(at + "first".length)]);
        const read = alike.read(next);
        if (!read) return;
        const expected = JSON.parse(before.toString());
        expected.choices[0].delta.content = read.text;
        expect(JSON.parse(next.toString())).toEqual(expected);
        expect(Buffer.from(read.text)).toEqual(Buffer.from(bytes));
      }),
    );
  });

  test("is no longer looked for where each chunk has something new", () => {
    const alike = createTemplateReader();
    const odd = (i: number) => chunk({ content: "a" }, { obfuscation: "x".repeat(i) });
    for (let i = 0; i < 8; i++) {
      expect(alike.read(odd(i))).toBeUndefined();
      alike.learn(JSON.parse(odd(i).toString()), odd(i), odd(i));
    }
    alike.learn(JSON.parse(odd(9).toString()), odd(9), odd(9));
    expect(alike.read(odd(9))).toBeUndefined();
  });
});
