/**
 * What callers see of an upstream that dies under a hundred requests a second. `npm run test:load` does the same
 * longer and harder.
 */
import { expect, test } from "vitest";
import { oneDies, oneFlaps, onlyOneIsDead } from "../../load/scenes.ts";

const perSecond = 100;

test("callers of two targets, one of which dies, lose no call that had not begun to stream", async () => {
  const { missed, failed, broken, answered, calls, received } = await oneDies({ perSecond, seconds: 2 });
  expect({ missed, failed }).toEqual({ missed: [], failed: 0 });
  expect(answered + broken).toBe(calls);
  // Some were streaming from it.
  expect(broken).toBeGreaterThan(0);
  expect(Math.min(...received)).toBeGreaterThan(0);
});

test("callers lose no call while a target dies and comes back", async () => {
  const { missed, failed, received } = await oneFlaps({ perSecond, seconds: 3 }, 1);
  expect({ missed, failed }).toEqual({ missed: [], failed: 0 });
  expect(Math.min(...received)).toBeGreaterThan(0);
});

test("callers of a single dead target send it at most a fifth more requests", async () => {
  const noBreaker = { failures: Number.MAX_SAFE_INTEGER, openMs: 1 };
  const { missed, failed, calls, received } = await onlyOneIsDead({ perSecond, seconds: 1 }, noBreaker);
  expect({ missed, failed }).toEqual({ missed: [], failed: calls });
  expect(received[0]).toBeGreaterThan(calls);
});
