/**
 * `npm run test:agents`: the agents that people use, as npm and PyPI have them, over the gateway and each kind of upstream. Each lives in an
 * empty home folder and talks to nobody but the gateway, which talks to a model that plays what the prompts say. Prints a table,
 * and ends with 1 where anything did not come out as it must.
 *
 *   npm run test:agents -- --agent codex --upstream strict    only these; each may be given several times
 *   npm run test:agents -- --keep                             leaves the folders, and says where they are
 *   npm run test:agents -- --write                            writes the table to docs/clients.md
 */
import { parseArgs } from "node:util";
import { helpFirst } from "../../tools/program-help.ts";
import { sceneNames } from "./agent.ts";
import { agents } from "./agents.ts";
import { writeClientsPage } from "./clients-page.ts";
import { install } from "./install.ts";
import { type UpstreamName, upstreamNames } from "./model/server.ts";
import { playRow, type Row } from "./row.ts";

helpFirst(import.meta.filename);

const { values } = parseArgs({
  options: {
    agent: { type: "string", multiple: true },
    upstream: { type: "string", multiple: true },
    keep: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});

/** Returns those that were named, all where none was; an unknown name ends the run. */
function chosen<T>(all: readonly T[], named: readonly string[] | undefined, nameOf: (one: T) => string): readonly T[] {
  const unknown = named?.find((name) => !all.some((one) => nameOf(one) === name));
  if (unknown !== undefined) {
    console.error(`there is no ${unknown}: expected ${all.map(nameOf).join(", ")}`);
    process.exit(2);
  }
  return named ? all.filter((one) => named.includes(nameOf(one))) : all;
}

const rows: Row[] = [];
for (const agent of chosen(agents, values.agent, ({ name }) => name)) {
  const file = await install(agent);
  if (file === undefined) {
    console.log(`${agent.title}: skipped, for there is no python3 with venv here`);
    continue;
  }
  for (const upstream of chosen<UpstreamName>(upstreamNames, values.upstream, (name) => name)) {
    const row = await playRow(agent, file, upstream, values.keep);
    rows.push(row);
    print(row);
    if (values.write) await writeClientsPage([row]);
  }
}

function print({ agent, upstream, scenes, faults, seconds, firstRequestMs }: Row): void {
  const marks = sceneNames.map((name) => {
    if (!scenes.has(name)) return `${name} –`;
    return `${name} ${scenes.get(name) === undefined ? "✓" : "✗"}`;
  });
  const first = firstRequestMs === undefined ? "" : `, first request after ${Math.round(firstRequestMs)} ms`;
  console.log(`${agent.title} over ${upstream}: ${marks.join("  ")}  (${seconds.toFixed(1)} s${first})`);
  for (const [name, fault] of scenes) if (fault !== undefined) console.error(`  ${name}: ${fault}`);
  for (const fault of faults) console.error(`  ${fault}`);
}

const failed = rows.filter(
  ({ scenes, faults }) => faults.length > 0 || [...scenes.values()].some((fault) => fault !== undefined),
);
process.exit(failed.length > 0 ? 1 : 0);
