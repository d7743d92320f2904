/**
 * `npm run bench -- --engines`: the same gateway over SQLite in one process, over Postgres and Redis, and by several workers, in turn,
 * round after round.
 */
import type { Options } from "../options.ts";
import { folder } from "../program.ts";
import { setStage } from "../targets.ts";
import { type Measured, measureRounds, targetsOf, verify, warmUp } from "../turns.ts";
import { engineLoads } from "./loads.ts";
import { engineRows } from "./rows.ts";

const title = "What several processes and nodes cost";
const method = [
  "Ratios are taken within each. CPU is that of the gateway's own processes; Postgres and Redis run on this machine, on the load's core,",
  "and Postgres as it is set up by itself: each commit is on the disk before it is answered.",
].join(" ");

export async function compareEngines(options: Options): Promise<Measured> {
  const chosen = engineLoads.filter(({ name }) => options.only?.has(name) ?? true);
  const wanted = new Set(chosen.flatMap(({ targets }) => targets.filter((name) => options.targets.has(name))));
  const stage = await setStage({ folder, cache: options.cache, wanted });
  for (const load of chosen) for (const target of targetsOf(load, stage)) await verify(load, target);
  await warmUp(chosen, stage, options.seconds);
  const broken = new Set<string>();
  const pieces = await measureRounds(chosen, stage, options, broken);
  const notes = [...stage.notes, ...broken];
  return { file: "engines", title, rows: engineRows, loads: chosen, method, pieces, notes };
}
