/** Work that fails again and again has a line a minute, and no stack where what is wrong lies outside. */
import { pino } from "pino";
import { expect, test } from "vitest";
import { logFailures } from "../../src/composition/trouble-log.ts";
import { LockedError } from "../../src/runtime/write-trouble.ts";

const minute = 60_000;

function stage() {
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(line) });
  let at = 0;
  const told = () => lines.splice(0).map((line) => JSON.parse(line) as Record<string, unknown>);
  return { onError: logFailures(log, "work failed", () => at), told, pass: (ms: number) => (at += ms) };
}

test("a lock that another process keeps has a line without a stack, and one a minute with the number of tries", () => {
  const { onError, told, pass } = stage();
  for (let tries = 0; tries < 20; tries++) onError(new LockedError());
  // An owner tells its workers of the same lock in other words.
  onError(Object.assign(new Error("database is locked"), { code: "SQLITE_BUSY" }));
  const why = "another process holds the lock of the database";
  expect(told()).toEqual([{ level: 50, why, msg: "work failed" }]);
  pass(minute);
  onError(new LockedError());
  onError(new LockedError());
  expect(told()).toEqual([{ level: 50, why, repeated: 20, msg: "work failed" }]);
  onError(Object.assign(new Error("the disk is full"), { code: "SQLITE_FULL" }));
  expect(told()).toMatchObject([{ why: "the disk is full" }]);
});

test("a fault of another kind has its stack, and is not lost behind many others", () => {
  const { onError, told } = stage();
  for (let tries = 0; tries < 3; tries++) onError(new TypeError("of ours"));
  expect(told()).toMatchObject([{ err: { type: "TypeError", stack: expect.stringContaining("trouble-log.test.ts") } }]);
  for (let n = 0; n < 200; n++) onError(new Error(`call ${n}`));
  expect(told()).toHaveLength(200);
});
