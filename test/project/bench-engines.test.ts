/** The bench of engines runs, and tells what it measured: a short run on SQLite and on Postgres with Redis. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { figuresOf, metricsIn } from "../../bench/engines/counts.ts";
import { engineRows } from "../../bench/engines/rows.ts";
import { has } from "../../bench/processes.ts";
import { type Piece, resultsOf } from "../../bench/results.ts";
import { verdictOf } from "../../bench/rows.ts";
import { root, run, temporaryFolder } from "../support/command.ts";
import { hasRedis } from "../support/redis/server.ts";
import { postgresPrograms } from "../support/storage/postgres.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(() => folder.remove());

const canRun = has("wrk") && postgresPrograms !== undefined && (hasRedis.redis || hasRedis.valkey);
const short = ["--engines", "--rounds", "1", "--seconds", "0.5", "--targets", "gateway,gateway-postgres"];

test.skipIf(!canRun)(
  "a short run measures Postgres and Redis beside SQLite, wrk, Postgres and Redis being here",
  { timeout: 180_000 },
  async () => {
    const json = join(folder.path, "engines.json");
    const { code, stdout, stderr } = await run(
      process.execPath,
      [join(root, "bench/main.ts"), ...short, "--only", "32,500-a-second", "--json", json],
      { PATH: process.env.PATH },
    );
    expect(code, stderr).toBe(0);
    for (const { work } of engineRows) expect(stdout).toContain(`| ${work} |`);
    expect(stdout).toMatch(/\| same, 32 connections \| SQLite, one process \| \d+\.\d\d × \|/);
    expect(stdout).toMatch(/500 requests\/s: added p50 \| SQLite, one process \| -?\d+\.\d\d ms \|/);
    const { pieces } = JSON.parse(await readFile(json, "utf8")) as { pieces: Piece[] };
    const of = (load: string, target: string) =>
      pieces.find((piece) => piece.load === load && piece.target === target)?.figures ?? {};
    const overPostgres = ["32", "500-a-second"].map((load) => of(load, "gateway-postgres"));
    for (const figures of overPostgres) expect(figures["calls a statement"]).toBeGreaterThan(0.3);
    // A busy machine may keep Redis waiting for as long as one of the loads lasts: no round trip is counted then.
    expect(overPostgres.map((figures) => figures["decisions a round trip"])).toContainEqual(expect.any(Number));
    expect(of("32", "gateway")["calls a statement"]).toBeUndefined();
  },
);

test("counts are what the metrics grew by, and none where there is no such metric", () => {
  const text = [
    "# HELP model_gateway_redis_round_trips_total Questions.",
    "model_gateway_redis_round_trips_total 5",
    'model_gateway_redis_decisions_total{by="slice"} 90',
    'model_gateway_redis_decisions_total{by="asked"} 10',
    'model_gateway_database_batches_total{kind="write"} 4',
    'model_gateway_database_batch_seconds_total{kind="write"} 8e-3',
  ].join("\n");
  const values = metricsIn(text);
  const figures = figuresOf((name) => values.get(name) ?? Number.NaN, 100);
  expect(figures).toEqual({ "calls a statement": 25, "ms a statement": 2, "decisions a round trip": 20 });
  expect(figuresOf(() => Number.NaN, 100)).toEqual({});
});

test("two workers serve as many calls as both cores have CPU for, and no more than the busier one", () => {
  const row = engineRows.find(({ work }) => work.startsWith("two workers on two cores"));
  const valueFor = (all: number, busiest: number) => {
    const figures = { "CPU µs/request": all, "busiest process µs/request": busiest };
    const results = resultsOf([
      { load: "256", target: "gateway", round: 0, figures: { "CPU µs/request": 40, "busiest process µs/request": 40 } },
      { load: "256", target: "gateway-workers", round: 0, figures },
    ]);
    return row?.values(results)[0] ?? Number.NaN;
  };
  expect(valueFor(44, 22)).toBeCloseTo(1.82);
  expect(valueFor(44, 32)).toBeCloseTo(1.25);
  expect(row && verdictOf(row, valueFor(44, 22))).toBe("reached");
  expect(row && verdictOf(row, valueFor(44, 32))).toBe("SHORT");
});
