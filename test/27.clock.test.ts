/**
 * The clock of calls: one moment for all of a turn of the event loop, and never one from before it.
 */
import { readFile } from "node:fs";
import { expect, test } from "vitest";
import { createTurnClock } from "../src/clock.ts";

/** Stays in this turn until the machine's clock has gone on. */
function letPass(moment: number): void {
  while (Date.now() <= moment);
}

test("is looked at once in a turn", () => {
  const clock = createTurnClock();
  const begun = Date.now();
  const moment = clock();
  letPass(moment);
  expect(moment).toBeGreaterThanOrEqual(begun);
  expect(clock()).toBe(moment);
});

test("tells one moment to all that comes in a turn", async () => {
  const clock = createTurnClock();
  const told: number[] = [];
  const look = () => {
    told.push(clock());
    letPass(told[0] as number);
  };
  setImmediate(look);
  await new Promise<void>((resolve) => setImmediate(() => resolve(look())));
  expect(told[1]).toBe(told[0]);
});

test("stands still for promises of the same turn", async () => {
  const clock = createTurnClock();
  const moment = clock();
  letPass(moment);
  for (let i = 0; i < 100; i++) await undefined;
  expect(clock()).toBe(moment);
});

test.each([
  ["an immediate", (callback: () => void) => setImmediate(callback)],
  ["a timer", (callback: () => void) => setTimeout(callback, 1)],
  ["a file that has been read", (callback: () => void) => readFile(import.meta.filename, callback)],
])("tells another moment once the turn is over: in %s", async (_, inLaterTurn) => {
  const clock = createTurnClock();
  const moment = clock();
  letPass(moment);
  // A timer and a file that was read may be of one turn: it is over where immediates run.
  await new Promise(setImmediate);
  const told = await new Promise<{ begun: number; moment: number }>((resolve) => {
    inLaterTurn(() => resolve({ begun: Date.now(), moment: clock() }));
  });
  expect(told.begun).toBeGreaterThan(moment);
  expect(told.moment).toBeGreaterThanOrEqual(told.begun);
});
