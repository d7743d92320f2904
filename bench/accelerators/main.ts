/**
 * `npm run bench:accelerators`: measures the gain of each accelerator. Starts the gateway anew for each choice of
 * accelerators, one process after another, measures the CPU of a call on the loads of the bench's table, and prints
 * off ÷ on.
 */
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { wrkMissing } from "../clients/wrk.ts";
import { type Load, loads } from "../loads.ts";
import { names as namesIn } from "../options.ts";
import { has, pinSelf, unpinned } from "../processes.ts";
import { folder, runProgram, tell } from "../program.ts";
import type { UpstreamPorts } from "../servers/gateway.ts";
import { gatewayTarget, startUpstreams, type Target } from "../targets.ts";
import { verify } from "../turns.ts";
import { type Measured, table } from "./table.ts";
import { columns, type Variant, variants } from "./variants.ts";

const defaults = { processes: "4", seconds: "2" };

const usage = `npm run bench:accelerators -- [OPTION…]

  --processes N     how many processes are measured of each choice; ${defaults.processes} where nothing is said
  --seconds S       how long each load is measured, after as long a warm-up; ${defaults.seconds}
  --only LOAD,…     some of the loads: ${Object.keys(columns).join(", ")}
  --choices C,…     some of the choices: ${variants.map(({ name }) => name).join(", ")}
  --save            renews bench/accelerators.md

All of it takes some 20 minutes.`;

/** firstWarming is the factor by which a process's first load is warmed up longer: most code is compiled then. */
const firstWarming = 2;
/** lasting is the factor by which a thousand connections and paced streams are measured longer: they begin slowly. */
const lasting = (load: Load) => (load.kind === "paced" || load.name === "late-50" ? 1.25 : 1);

const args = process.argv.slice(2);

await runProgram(main);

async function main(): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      processes: { type: "string", default: defaults.processes },
      seconds: { type: "string", default: defaults.seconds },
      only: { type: "string", default: Object.keys(columns).join() },
      choices: { type: "string", default: variants.map(({ name }) => name).join() },
      save: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return console.log(usage);
  if (!has("wrk")) throw new Error(wrkMissing);
  const [processes, seconds] = [Number(values.processes), Number(values.seconds)];
  if (!(processes > 0 && seconds > 0)) throw new Error("--processes, --seconds: expected numbers above 0");
  const wanted = namesIn("--only", values.only, Object.keys(columns));
  const choices = namesIn(
    "--choices",
    values.choices,
    variants.map(({ name }) => name),
  );
  pinSelf();
  const [busy = 0] = loadavg();
  const upstreams = await startUpstreams(folder);
  const measured: Measured[] = [];
  const failed = new Set<string>();
  for (let round = 0; round < processes; round++) {
    // Each round begins with another variant: a host's speed changes from minute to minute.
    const turned = variants.map((_, i) => variants[(i + round) % variants.length] as Variant);
    for (const variant of turned.filter(({ name }) => choices.has(name))) {
      const chosen = loads.filter(({ name }) => variant.loads.includes(name) && wanted.has(name));
      if (chosen.length === 0) continue;
      tell(`process ${round + 1} of ${processes}, ${variant.name}`);
      measured.push(...(await measure(variant, chosen, { upstreams, round, seconds, failed })));
    }
  }
  tell("done");
  const command = ["npm run bench:accelerators", ...(args.length > 0 ? ["--", ...args] : [])].join(" ");
  const notes = [
    ...failed,
    ...(unpinned ? [`nothing is pinned to a core: ${unpinned}`] : []),
    ...(busy > 0.7 ? [`the machine was busy before: a load of ${busy.toFixed(1)}`] : []),
  ];
  const text = table({ measured, command, processes, notes, date: new Date() });
  console.log(text);
  if (values.save) writeFileSync(join(import.meta.dirname, "../accelerators.md"), `${text}\n`);
}

interface MeasureInit {
  readonly upstreams: UpstreamPorts;
  readonly round: number;
  readonly seconds: number;
  /** failed are the loads under which a variant failed. */
  readonly failed: Set<string>;
}

/** measure starts a gateway, measures it on these loads, and stops it. */
async function measure(variant: Variant, chosen: readonly Load[], init: MeasureInit): Promise<Measured[]> {
  const { upstreams, round, seconds, failed } = init;
  const own = join(folder, `${variants.indexOf(variant)}-${round}`);
  const started = await gatewayTarget(own, upstreams, { ACCELERATORS: variant.accelerators });
  const target: Target = { name: "gateway", ...started };
  const measured: Measured[] = [];
  for (const [place, load] of chosen.entries()) {
    const length = seconds * lasting(load);
    const warmSeconds = length * (place === 0 ? firstWarming : 1);
    try {
      await verify(load, target);
      const figures = await load.measure(target, { seconds: length, warmSeconds, folder, upstreams });
      const cpu = figures["CPU µs/request"] ?? figures["CPU µs/chunk"] ?? Number.NaN;
      measured.push({ variant: variant.name, load: load.name, process: round, cpu, memory: figures["memory MB"] });
    } catch (error) {
      failed.add(`${load.name}, ${variant.name}: ${(error as Error).message}`);
    }
  }
  await started.program.stop();
  return measured;
}
