/** The free text of a custom tool, however a model wraps it. */
import { expect, test } from "vitest";
import { freeTextIn } from "../../../src/families/tools/free-text.ts";

const patch = "*** Begin Patch\n*** End Patch";

test.each([
  { input: patch },
  { patch },
  { anything: patch },
  { patch, workdir: "." },
  { input: { patch } },
  { input: patch.split("\n") },
  { command: ["apply_patch", patch] },
  patch,
])("is found in %j", (value) => {
  expect(freeTextIn(value)).toBe(patch);
});

test("is not guessed among several members, nor made of numbers", () => {
  expect(freeTextIn({ a: "x", b: "y" })).toBeUndefined();
  expect(freeTextIn({ input: 5 })).toBeUndefined();
  expect(freeTextIn([1])).toBeUndefined();
  expect(freeTextIn({})).toBe("");
});
