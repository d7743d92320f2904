/**
 * The bench runs, and tells what it measured: short runs of some loads on two targets. How fast anything is, is no matter
 * of tests.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { has } from "../../bench/processes.ts";
import { report } from "../../bench/report.ts";
import { type Piece, resultsOf } from "../../bench/results.ts";
import { memoryRows, rows } from "../../bench/rows.ts";
import { median } from "../../bench/statistics.ts";
import { root, run, temporaryFolder } from "../support/command.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(() => folder.remove());

const bench = (...args: readonly string[]) =>
  run(process.execPath, [join(root, "bench/main.ts"), "--cache", folder.path, ...args], { PATH: process.env.PATH });

test.skipIf(!has("wrk"))("a short run tells of every row, and of each target", async () => {
  const json = join(folder.path, "results.json");
  const asked = ["--rounds", "1", "--seconds", "0.3", "--only", "chat-1k", "--targets", "bare,gateway"];
  const { code, stdout, stderr } = await bench(...asked, "--json", json);
  expect(code, stderr).toBe(0);
  for (const { work } of rows) expect(stdout).toContain(`| ${work} |`);
  expect(stdout).toMatch(
    /\| chat 1 kB.*requests\/s \| bare \| \d+\.\d\d × \| \d+\.\d\d … \d+\.\d\d of 3 \| ≥ 0.75 × \| ≥ 0.9 × \| (?:aim reached|reached|SHORT) \|/,
  );
  expect(stdout).toMatch(/\| chat-1k: .* \| bare \| [\d,.]+ \|/);
  expect(stdout).toMatch(/\| chat-1k: .* \| gateway \| [\d,.]+ \|/);
  const { rows: values, pieces } = JSON.parse(await readFile(json, "utf8"));
  expect(values).toHaveLength(rows.length);
  const turns = pieces.map(({ target, round }: Piece) => `${round} ${target}`);
  expect(turns).toEqual(["0 bare", "0 gateway", "1 bare", "1 gateway", "2 bare", "2 gateway"]);
});

test.skipIf(!has("wrk"))("of memory alone a run tells its rows, of the gateway", async () => {
  const { code, stdout, stderr } = await bench("--memory", "--rounds", "1", "--seconds", "0.2", "--only", "chat-1k");
  expect(code, stderr).toBe(0);
  const work = [...stdout.matchAll(/^\| ([^|]+) \| [^|]+ \| [^|]+ \| [^|]+ \| ≤/gm)].map(([, name]) => name);
  expect(work).toEqual(memoryRows.filter(({ must }) => must !== undefined).map((row) => row.work));
  expect(stdout).not.toContain("| chat-1k: chat, request and answer of 1 kB | bare |");
});

test.skipIf(!has("wrk"))("streams that go on are read in a window for each round", async () => {
  const json = join(folder.path, "results.json");
  const asked = ["--rounds", "2", "--seconds", "0.2", "--only", "steady-100", "--targets", "direct,gateway"];
  const { code, stdout, stderr } = await bench(...asked, "--json", json);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/\| stream, p99 chunk delay.* \| direct \| -?\d+\.\d\d ms \| .* of 2 \|/);
  const { pieces } = JSON.parse(await readFile(json, "utf8"));
  const windows = pieces.map(({ target, round }: Piece) => `${round} ${target}`);
  expect(windows).toEqual(["0 direct", "1 direct", "0 gateway", "1 gateway"]);
});

test("a row is the median of its rounds, and says between what half of them lie", () => {
  const figures = (rate: number) => ({ "requests/s": rate });
  const pieces = [10, 80, 60, 40, 99].flatMap((rate, round) => [
    { load: "chat-1k", target: "gateway", round, figures: figures(rate) },
    { load: "chat-1k", target: "bare", round, figures: figures(100) },
  ]);
  const told = report({
    ...{
      results: resultsOf(pieces),
      rows,
      loads: [],
      notes: [],
      command: "c",
      rounds: 5,
      method: "",
      date: new Date(0),
    },
  });
  expect(told).toContain(
    "| chat 1 kB, priced, durable, all on: requests/s | bare | 0.60 × | 0.40 … 0.80 of 5 | ≥ 0.75 × |",
  );
  expect(told).toContain("| one connection, added p50 | nginx | – | – |");
});

test("the median of an even number lies between the two in the middle", () => {
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([5, 1, 3])).toBe(3);
  expect(median([])).toBeNaN();
});

test("a load that does not exist is told, with those that do", async () => {
  const { code, stderr } = await bench("--only", "chat-1m");
  expect(code).toBe(1);
  expect(stderr).toMatch(/there is no "chat-1m"; there are chat-1k, .*streams-10k/);
});
