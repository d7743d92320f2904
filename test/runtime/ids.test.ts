/**
 * Identifiers are unique and sort in the order in which they were made.
 */
import { expect, test } from "vitest";
import { firstIdAt, newId, timeOfId } from "../../src/runtime/ids.ts";

test("ids of one millisecond sort by their order, and after those of the one before", () => {
  const ids = [1000, 1001].flatMap((now) => Array.from({ length: 5000 }, () => newId("req", now)));
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});

test("ids say what they name, and have 25 characters that nobody mistakes for others", () => {
  for (let now = 1; now < 2000; now++) expect(newId("key", now)).toMatch(/^key_[0-9abcdefghjkmnpqrstvwxyz]{25}$/);
});

test("ids of different moments share nothing but the time", () => {
  const tails = Array.from({ length: 2000 }, (_, now) => newId("req", now).slice(-16));
  expect(new Set(tails.map((tail) => tail.slice(0, 8))).size).toBe(tails.length);
});

test("all ids from a moment on come after its first, and all from before it before", () => {
  expect(newId("req", 5000) > firstIdAt("req", 5000)).toBe(true);
  expect(newId("req", 4999) < firstIdAt("req", 5000)).toBe(true);
});

test("an id tells when it was made, and what is none does not", () => {
  for (const now of [0, 1, 31, 32, 1_800_000_000_000]) expect(timeOfId(newId("req", now))).toBe(now);
  for (const text of ["", "req_1", "req_00000000u0000", "~"]) expect(timeOfId(text)).toBeUndefined();
});

test("a prefix has at most seven characters", () => {
  expect(newId("sevenxx", 1)).toMatch(/^sevenxx_0{8}1[0-9a-z]{16}$/);
  expect(() => newId("eightxxx", 1)).toThrow(RangeError);
});
