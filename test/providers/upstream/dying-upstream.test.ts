/**
 * What callers see of an upstream that dies while they come at a hundred a second; `npm run test:load` does the same for
 * longer, and harder.
 */
import { expect, test, vi } from "vitest";
import { oneDies, oneFlaps, onlyOneIsDead } from "../../load/scenes.ts";

vi.setConfig({ testTimeout: 60_000 });

const perSecond = 100;

test("where one of two targets dies, no call fails that had not begun to stream", async () => {
  const { missed, failed, broken, answered, calls, received } = await oneDies({ perSecond, seconds: 2 });
  expect({ missed, failed }).toEqual({ missed: [], failed: 0 });
  expect(answered + broken).toBe(calls);
  // Some were streaming from it.
  expect(broken).toBeGreaterThan(0);
  expect(Math.min(...received)).toBeGreaterThan(0);
});

test("where it dies and comes back, none fails in the meantime", async () => {
  const { missed, failed, received } = await oneFlaps({ perSecond, seconds: 3 }, 1);
  expect({ missed, failed }).toEqual({ missed: [], failed: 0 });
  expect(Math.min(...received)).toBeGreaterThan(0);
});

test("where the only target is dead, it is sent at most a fifth more than is asked", async () => {
  const noBreaker = { failures: Number.MAX_SAFE_INTEGER, openMs: 1 };
  const { missed, failed, calls, received } = await onlyOneIsDead({ perSecond, seconds: 1 }, noBreaker);
  expect({ missed, failed }).toEqual({ missed: [], failed: calls });
  expect(received[0]).toBeGreaterThan(calls);
});
