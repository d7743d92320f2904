/** What a move shows while it goes on: a line on a terminal, nothing anywhere else. */
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { createProgress } from "../../src/commands/data/progress.ts";

function stream(isTTY: boolean) {
  const written: string[] = [];
  const to = Object.assign(new PassThrough(), { isTTY, columns: 60 });
  to.setEncoding("utf8").on("data", (text: string) => written.push(text));
  return { to: to as unknown as NodeJS.WriteStream, written };
}

test("a terminal sees each step on the same line, no wider than it is, and in the end none", () => {
  const { to, written } = stream(true);
  const progress = createProgress(to);
  progress.show({ kind: "proving", name: "/data/gateway.db" });
  progress.show({ kind: "copying", table: "requests", rows: 4000, of: 9000 });
  // So soon after it nothing is written.
  progress.show({ kind: "copying", table: "requests", rows: 8000, of: 9000 });
  progress.show({ kind: "copying", table: "links", rows: 0, of: 0 });
  progress.show({ kind: "comparing", name: "x".repeat(100) });
  progress.clear();
  expect(written.map((text) => text.replace("\r\x1b[K", ""))).toEqual([
    "proving /data/gateway.db …",
    "copying requests: 4000 of 9000 rows, 44 %",
    "copying links: 0 of 0 rows, 100 %",
    `comparing ${"x".repeat(49)}`,
    "",
  ]);
  expect(written.every((text) => text.startsWith("\r\x1b[K"))).toBe(true);
});

test("a file or a pipe gets none of it", () => {
  const { to, written } = stream(false);
  const progress = createProgress(to);
  progress.show({ kind: "settling", name: "a" });
  progress.clear();
  expect(written).toEqual([]);
});
