/** Requests begin over turns of the event loop: some at once, fewer while connections come, since Node accepts one a turn. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createRequestTurns } from "../../../src/doors/listener/request-turns.ts";

const never = () => false;

/** Asks for so many at once, and returns how many have begun after each of some turns. */
async function begunAfter(turns: ReturnType<typeof createRequestTurns>, count: number, rounds: number) {
  let begun = 0;
  for (let i = 0; i < count; i++) turns.begin(() => begun++, never);
  const seen = [begun];
  for (let i = 0; i < rounds; i++) {
    await nextTurn();
    seen.push(begun);
  }
  return seen;
}

test("requests that come at once begin over several turns, in their order", async () => {
  expect(await begunAfter(createRequestTurns(), 80, 3)).toEqual([32, 64, 80, 80]);
});

test("while connections are accepted turns are short, and long again afterwards", async () => {
  const turns = createRequestTurns();
  turns.accepted();
  expect(await begunAfter(turns, 80, 5)).toEqual([2, 4, 6, 38, 70, 80]);
});

test("one that is over when its turn comes does not begin", async () => {
  const turns = createRequestTurns();
  const begun: number[] = [];
  for (let i = 0; i < 40; i++) {
    turns.begin(
      () => begun.push(i),
      () => i === 35,
    );
  }
  await nextTurn();
  await nextTurn();
  expect(begun).toHaveLength(39);
  expect(begun).not.toContain(35);
});
