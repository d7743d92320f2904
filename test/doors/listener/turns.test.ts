/**
 * Requests begin over turns of the event loop: some at once, fewer while connections come, since Node accepts one a turn. Sessions wait while
 * they come, for a moment.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { createTurns, requestTurns, sessionTurns, type Turns } from "../../../src/doors/listener/turns.ts";

const never = () => false;

/** Asks for so many at once, and returns how many have begun after each of some turns. */
async function begunAfter(turns: Turns, count: number, rounds: number) {
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
  expect(await begunAfter(createTurns(requestTurns), 80, 3)).toEqual([32, 64, 80, 80]);
});

test("while connections are accepted turns are short, and long again afterwards", async () => {
  const turns = createTurns(requestTurns);
  turns.accepted();
  expect(await begunAfter(turns, 80, 5)).toEqual([2, 4, 6, 38, 70, 80]);
});

test("one that is over when its turn comes does not begin", async () => {
  const turns = createTurns(requestTurns);
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

test("one that throws ends none of the others", async () => {
  const turns = createTurns({ ...requestTurns, most: 1 });
  const begun = vi.fn();
  const thrown = new Promise((resolve) => process.once("uncaughtException", resolve));
  turns.begin(begun, never);
  turns.begin(() => {
    throw new Error("broken");
  }, never);
  turns.begin(begun, never);
  expect(await thrown).toMatchObject({ message: "broken" });
  await nextTurn();
  await nextTurn();
  expect(begun).toHaveBeenCalledTimes(2);
});

test("sessions begin once no more connections come", async () => {
  const turns = createTurns(sessionTurns);
  turns.accepted();
  expect(await begunAfter(turns, 20, 6)).toEqual([0, 0, 0, 6, 12, 18, 20]);
});

test("while connections come for longer than sessions wait, one begins a turn", async () => {
  const turns = createTurns({ ...sessionTurns, patienceMs: 1 });
  turns.accepted();
  const begun = vi.fn();
  for (let i = 0; i < 5; i++) turns.begin(begun, never);
  for (const end = performance.now() + 1; performance.now() <= end; );
  for (let i = 1; i <= 3; i++) {
    turns.accepted();
    await nextTurn();
    expect(begun).toHaveBeenCalledTimes(i);
  }
});
