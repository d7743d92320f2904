/**
 * `npm run simulate:fleet`: simulates a fleet of gateways over Postgres and Redis. Tells what is used of each part, how long calls wait
 * for money, what breaks first, and what a larger load takes. `--help` lists the options.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { names } from "../options.ts";
import { planOf } from "./plan.ts";
import { planText, tellOf, textOf } from "./report.ts";
import { cases, type Scenario, settings, withSettings } from "./scenario.ts";

const flagOf = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const flags = new Map(Object.keys(settings).map((name) => [flagOf(name), name as keyof Scenario]));

const usage = `npm run simulate:fleet -- [OPTION…]

  --case CASE,…          some of the cases: ${Object.keys(cases).join(", ")}
  --plan                 what each change brings, one after another, and how many servers the load takes
  --json FILE            writes all figures there
${Object.entries(settings)
  .map(([name, meaning]) => `  --${flagOf(name).padEnd(20)} ${meaning}`)
  .join("\n")}

Without options all cases, and the plan of the last: some twenty seconds. What is exact and what is not stands in
bench/fleet-simulation/fleet.ts, what things cost in costs.ts beside it.`;

try {
  main(process.argv.slice(2));
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

function main(args: readonly string[]): void {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: "boolean", default: false },
      plan: { type: "boolean", default: false },
      case: { type: "string" },
      json: { type: "string" },
      ...Object.fromEntries([...flags.keys()].map((flag) => [flag, { type: "string" }] as const)),
    },
  });
  if (values.help === true) {
    console.log(usage);
    return;
  }
  const all = Object.keys(cases);
  const chosen = names("--case", typeof values.case === "string" ? values.case : all.join(), all);
  const given: Record<string, string | undefined> = {};
  for (const [flag, name] of flags) given[name] = (values as unknown as Record<string, string | undefined>)[flag];
  const scenarios = all.filter((name) => chosen.has(name)).map((name) => ({ name, scenario: scenarioOf(name, given) }));
  const told = scenarios.map(({ name, scenario }) => {
    const one = tellOf(name, scenario);
    console.log(`${textOf(one)}\n`);
    return one;
  });
  const planned = values.plan === true || args.length === 0 ? scenarios.slice(values.plan === true ? 0 : -1) : [];
  const plans = planned.map(({ name, scenario }) => {
    const plan = planOf(scenario);
    console.log(`## ${name}: one change after another\n\n${planText(plan)}\n`);
    return { name, plan };
  });
  if (typeof values.json === "string")
    writeFileSync(values.json, `${JSON.stringify({ told: told.map(dataOf), plans }, undefined, 2)}\n`);
}

function scenarioOf(name: string, given: Readonly<Record<string, string | undefined>>): Scenario {
  return withSettings(cases[name] as Scenario, given);
}

/** dataOf returns a case as plain data for JSON: waits as percentiles, without the groups of accounts. */
function dataOf({ simulated, ...told }: ReturnType<typeof tellOf>) {
  const { flows, shard, begin, end, hot, ...others } = simulated;
  const { groups: _, ...counted } = flows;
  const waits = Object.entries({ begin, end, hot }).map(([name, one]) => [
    name,
    { p50_us: one.percentile(0.5), p99_us: one.percentile(0.99), calls: one.count() },
  ]);
  return { ...told, ...others, flows: counted, waits: Object.fromEntries(waits) };
}
