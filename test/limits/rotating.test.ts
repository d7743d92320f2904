/** What is kept of ids goes once they were idle for the time that each is kept, whatever others are kept for. */
import { expect, test } from "vitest";
import { createRotating } from "../../src/limits/rotating.ts";

const [minute, day] = [60_000, 86_400_000];

test("an id that is kept for a day is found after hours, and keeps none that are kept for a minute", () => {
  const rotating = createRotating<string>();
  for (const [id, keptMs] of [
    ["guess", minute],
    ["code", day],
  ] as const) {
    expect(rotating.find(id, keptMs, 0)).toBeUndefined();
    rotating.add(id, keptMs, id);
  }
  for (let now = minute; now <= 3 * minute; now += minute) rotating.find("other", minute, now);
  expect(rotating.find("guess", minute, 3 * minute)).toBeUndefined();
  expect(rotating.find("code", day, day - 1)).toBe("code");
  for (let now = day; now <= 3 * day; now += day) rotating.find("other", minute, now);
  expect(rotating.find("code", day, 3 * day)).toBeUndefined();
});

test("an id goes on with what is kept of it where it is kept for another time from now on", () => {
  const rotating = createRotating<string>();
  rotating.find("key", day, 0);
  rotating.add("key", day, "bucket");
  expect(rotating.find("key", minute, day)).toBe("bucket");
  expect(rotating.find("key", minute, day + minute)).toBe("bucket");
  expect(rotating.find("key", day, day + 3 * minute)).toBe("bucket");
});
