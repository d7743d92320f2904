/**
 * `npm run bench:growth`: measures how the cost of a call grows with keys, accounts, models, recorded calls and open
 * streams: for clients with a key each, and for ten thousand keys in turn. Prints the curves, and the start-up time
 * with a million keys.
 *
 * Data sets are created once and kept in the cache. `--help` lists the options.
 */
import { parseArgs } from "node:util";
import { wrkMissing } from "../clients/wrk.ts";
import { mostStreams, openStreams } from "../large.ts";
import { cacheFolder, names } from "../options.ts";
import { has, pinSelf } from "../processes.ts";
import { folder, runProgram } from "../program.ts";
import { startUpstreams } from "../targets.ts";
import { type Curve, curveOf, type Point } from "./curve.ts";

/** keysPerAccount: an account has at most some thousand keys. */
const keysPerAccount = 1000;

const all = ["keys", "accounts", "models", "rows", "streams"];
const usage = `npm run bench:growth -- [--only CURVE,…] [--rows N] [--cache FOLDER]

Curves are ${all.join(", ")}. Calls on record grow to 5000000, or to N: 50000000 take 13 GB and five minutes to make.`;

await runProgram(main);

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      help: { type: "boolean", default: false },
      rows: { type: "string", default: "5000000" },
      only: { type: "string", default: all.join() },
      cache: { type: "string", default: cacheFolder },
    },
  });
  if (values.help) return console.log(usage);
  if (!has("wrk")) throw new Error(wrkMissing);
  const wanted = names("--only", values.only, all);
  pinSelf();
  const upstreams = await startUpstreams(folder);
  const context = { folder, cache: values.cache, upstreams };
  for (const curve of curvesTo(Number(values.rows))) {
    if (wanted.has(curve.name)) show(curve, await curveOf(curve, context));
  }
  if (!wanted.has("streams")) return;
  console.log("\n| open streams | kB/stream | CPU µs/chunk | memory MB |\n|--:|--:|--:|--:|");
  for (const streams of [1000, mostStreams]) {
    const { figures } = await openStreams({ ...context, seconds: 1 }, streams);
    const cells = ["kB/stream", "CPU µs/chunk", "memory MB"].map((name) => (figures[name] ?? 0).toFixed(1));
    console.log(`| ${streams.toLocaleString("en")} | ${cells.join(" | ")} |`);
  }
}

function curvesTo(rows: number): readonly Curve[] {
  const one = { accounts: 1, keys: 1, calls: 0, models: 0 };
  const some = { ...one, accounts: 100, keys: 1000 };
  const upTo = (most: number) => [0, ...[100_000, 5_000_000, 50_000_000].filter((calls) => calls < most), most];
  return [
    {
      name: "keys",
      points: [1, 1000, 100_000, 1_000_000].map((keys) => {
        return { ...one, count: keys, keys, accounts: Math.ceil(keys / keysPerAccount) };
      }),
    },
    {
      name: "accounts",
      points: [1, 1000, 100_000].map((accounts) => ({ ...one, count: accounts, accounts, keys: accounts })),
    },
    { name: "models", points: [0, 100, 2000].map((models) => ({ ...some, count: models, models })) },
    { name: "rows", points: upTo(rows).map((calls) => ({ ...some, count: calls, calls })) },
  ];
}

function show({ name }: Curve, points: readonly Point[]): void {
  const columns = ["a key each: CPU µs/request", "of the first", "in turn: CPU µs/request", "of the first"];
  console.log(`\n| ${[name, ...columns, "start ms", "memory MB"].join(" | ")} |\n|${"--:|".repeat(7)}`);
  for (const { count, taken, startMs, memory } of points) {
    const cells = [taken["a key each"], taken["in turn"]].flatMap(({ cpu, ratio }) => [
      cpu.toFixed(1),
      `${ratio.toFixed(2)} ×`,
    ]);
    const others = [Math.round(startMs).toLocaleString("en"), memory.toFixed(0)];
    console.log(`| ${[count.toLocaleString("en"), ...cells, ...others].join(" | ")} |`);
  }
}
