/** A cache takes memory for what is in it, and forgets what was used longest ago. */
import { expect, test } from "vitest";
import { createGrownCache } from "../../../src/runtime/memory/grown-cache.ts";

test("takes nothing for what it may hold", () => {
  // No list is that long.
  const cache = createGrownCache<number>(Number.MAX_SAFE_INTEGER);
  cache.set("a", 1);
  expect(cache.get("a")).toBe(1);
});

test("holds so many, and forgets the one that was used longest ago", () => {
  const cache = createGrownCache<number>(3);
  for (const [i, key] of ["a", "b", "c"].entries()) cache.set(key, i);
  cache.get("a");
  cache.set("d", 3);
  cache.set("d", 4);
  expect([...cache.keys()].toSorted()).toEqual(["a", "c", "d"]);
  for (let i = 0; i < 1000; i++) cache.set(`${i}`, i);
  expect([...cache.keys()].toSorted()).toEqual(["997", "998", "999"]);
  cache.clear();
  cache.set("e", 5);
  expect([...cache.entries()]).toEqual([["e", 5]]);
});
