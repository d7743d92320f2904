/** The word that was probably meant by one that is misspelt: near enough to be one slip away, and none where nothing is. */
import { expect, test } from "vitest";
import { nearestWord } from "../../../src/runtime/words/nearest-word.ts";

const words = [
  "serve",
  "accounts",
  "keys",
  "users",
  "config",
  "models",
  "reconcile",
  "backup",
  "restore",
  "refund",
  "grant",
];

test.each([
  ["key", "keys"],
  ["account", "accounts"],
  ["sevre", "serve"],
  ["reconsile", "reconcile"],
  ["recnocile", "reconcile"],
  ["backupp", "backup"],
  ["modles", "models"],
])("%s is near %s", (word, meant) => {
  expect(nearestWord(word, words)).toBe(meant);
});

test.each(["", "k", "ky", "install", "constructor", "topup", "sk-secret"])("%j is near none", (word) => {
  expect(nearestWord(word, words)).toBeUndefined();
});

test("of equals the first is meant", () => {
  expect(nearestWord("cat", ["bat", "rat"])).toBe("bat");
  expect(nearestWord("keyz", [])).toBeUndefined();
});
