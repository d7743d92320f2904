/** What people have named, or upstreams have said, is shown in its place: in a terminal, and in the sentences of the dashboard. */
import { expect, test } from "vitest";
import { isolated, keptApart } from "../../../dashboard/src/language/isolated.ts";
import { table } from "../../../src/commands/command.ts";
import { legible } from "../../../src/runtime/words/legible.ts";

test("no cell of a table ends its line, moves the cursor or turns the line around", () => {
  const names = ["a\nkey_2  revoked", "b\u001b[2J", "c\u009b2J", "d\u202e", "e\u2067", "f\u2028g", "h\r", "i\u007f"];
  const lines = table(
    ["NAME", "SPENT"],
    names.map((name) => [name, "1.00"]),
  ).split("\n");
  expect(lines).toHaveLength(1 + names.length);
  for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\u2028-\u202e\u2066-\u2069]/u);
  expect(lines[4]).toContain("d\\u{202e}");
});

test.each(["plain", "日本語", "👩‍👩‍👧‍👦", "é", "שלום", "\\u{202e}"])("%s is shown as it is", (name) => {
  expect(legible(name)).toBe(name);
});

test("a name within a sentence lets no direction out, whatever it opens or closes itself", () => {
  const said = keptApart({ revoke: (name: string, n: number) => `Revoke ${name}, which spent ${n}?` });
  expect(said.revoke("plain", 5)).toBe("Revoke plain, which spent 5?");
  expect(said.revoke("a\u202e", 5)).toBe("Revoke \u2068a\u202e\u2069, which spent 5?");
  expect(said.revoke("שלום", 5)).toBe("Revoke \u2068שלום\u2069, which spent 5?");
  for (const name of ["\u2069\u202e", "\u2067x", "\u2066\u2069\u2069\u2067\u2068", isolated("a\u202e")]) {
    const marks = isolated(name).replace(/[^\u2066-\u2069]/g, "");
    let depth = 0;
    for (const [at, mark] of [...marks].entries()) {
      depth += mark === "\u2069" ? -1 : 1;
      expect(depth === 0).toBe(at === marks.length - 1);
    }
  }
});
