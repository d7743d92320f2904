/** Tokens are decoded in turns, each byte once: a caller decides what they are. */
import { expect, test } from "vitest";
import { runNow } from "../../src/runtime/cooperative.ts";
import { loadDecoder } from "../../src/tokens/decoder.ts";

/** The tokens that are single bytes from 0x80 on, which begin or go on with a character. */
const bytes = Array.from({ length: 1_000_000 }, (_, i) => 128 + (i % 60));

test("a million tokens of one byte are one text", { timeout: 60_000 }, async () => {
  const decode = await loadDecoder();
  const room = { bytes: 2 * bytes.length };
  expect(runNow(decode(bytes, room))?.length).toBeGreaterThan(bytes.length / 4);
  expect(room.bytes).toBe(bytes.length);
});

test("others have a turn after some thousand tokens", async () => {
  const decode = await loadDecoder();
  const decoding = decode(bytes.slice(0, 32_768), { bytes: 32_768 });
  let turns = 1;
  while (!decoding.next().done) turns++;
  expect(turns).toBeGreaterThanOrEqual(16);
});

test("a text ends where it has no room, and so do tokens that are none", async () => {
  const decode = await loadDecoder();
  expect(runNow(decode([9906], { bytes: 5 }))).toBe("Hello");
  expect(runNow(decode([9906], { bytes: 4 }))).toBeUndefined();
  for (const none of [-1, 0.5, 200_000, "length", null, []])
    expect(runNow(decode([9906, none], { bytes: 100 }))).toBeUndefined();
});
