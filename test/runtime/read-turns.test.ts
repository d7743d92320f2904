/** Long bodies are read by so many bytes a round of the event loop, by fewer while connections come, and their sources take turns. */
import { expect, test } from "vitest";
import { readInTurns, shortenRounds } from "../../src/runtime/read-turns.ts";

const piece = 65_536;
const nextRound = () => new Promise(setImmediate);

/** Has so many sources bring a piece each. Returns those that were stopped, and those that went on since. */
function bring(count: number) {
  const stopped: number[] = [];
  const goneOn: number[] = [];
  for (let i = 0; i < count; i++) readInTurns({ pause: () => stopped.push(i) }, piece, () => goneOn.push(i));
  return { stopped, goneOn };
}

test("sources that wait go on by as many as a round reads, in their order", async () => {
  const { stopped, goneOn } = bring(120);
  // Two megabytes are thirty-two pieces.
  expect(stopped).toEqual(Array.from({ length: 89 }, (_, i) => i + 31));
  for (const count of [32, 64, 89]) {
    await nextRound();
    expect(goneOn).toEqual(stopped.slice(0, count));
  }
});

test("a source that comes while others wait goes on after them", async () => {
  const { goneOn } = bring(70);
  await nextRound();
  expect(goneOn).toHaveLength(32);
  readInTurns({ pause: () => {} }, piece, () => goneOn.push(-1));
  await nextRound();
  expect(goneOn.slice(32)).toEqual([63, 64, 65, 66, 67, 68, 69, -1]);
});

test("while connections are accepted rounds are short, and long again afterwards", async () => {
  shortenRounds();
  const { stopped, goneOn } = bring(9);
  expect(stopped).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  for (const count of [2, 4, 8]) {
    await nextRound();
    expect(goneOn).toHaveLength(count);
  }
});
