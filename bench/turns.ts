/** A target's turn: all others are paused, it is warmed up, and then measured slice by slice. */
import { open } from "./clients/http.ts";
import type { Load, MeasureContext } from "./loads.ts";
import type { Options } from "./options.ts";
import { folder, tell } from "./program.ts";
import type { ReportInit } from "./report.ts";
import type { Piece } from "./results.ts";
import { askedOf } from "./sent.ts";
import type { Stage, Target } from "./targets.ts";

/**
 * warmings are the factors of the warm-up before a piece: for the first load of its kind, and for others; and a
 * further factor for paced streams, of which few run in a second.
 */
const warmings = { first: 8, other: 1, paced: 2 };
/** again is the share of the measured time that a target gets before it to re-establish its connections. */
const again = 1 / 5;
/** sliceLength is the share of that time for a slice, if there are several. */
const sliceLength = 0.4;

export function targetsOf({ targets }: Pick<Load, "targets">, stage: Stage): Target[] {
  return targets.flatMap((name) => stage.targets.get(name) ?? []);
}

/**
 * warmUp runs loads until most of the frequent code is compiled: that takes V8 some ten seconds and is not a cost of a
 * call. The first load runs again at the end, because what V8 has learned from all others makes it recompile.
 */
export async function warmUp(chosen: readonly Load[], stage: Stage, seconds: number): Promise<void> {
  const warm = new Set<string>();
  for (const [place, load] of [...chosen, ...chosen.slice(0, 1)].entries()) {
    const isFirst = !warm.has(load.kind) || place === chosen.length;
    const times = (isFirst ? warmings.first : warmings.other) * (load.kind === "paced" ? warmings.paced : 1);
    const context = contextOf(stage, times * seconds);
    warm.add(load.kind);
    for (const target of targetsOf(load, stage)) {
      if (!target.program || target.name === "nginx") continue;
      tell(`warming ${target.name}, ${load.name}`);
      letRun(target, stage);
      await load.measure(target, context).catch(() => {}); // What fails fails again when it is measured.
    }
  }
}

/** letRun pauses all other targets: garbage collection after their load would disturb this one on the same core. */
export function letRun(target: Target, { targets }: Stage): void {
  for (const { program } of targets.values()) program?.pause();
  target.program?.resume();
}

function contextOf({ upstreams }: Stage, seconds: number): MeasureContext {
  return { seconds, warmSeconds: again * seconds, folder, upstreams };
}

/**
 * measure measures the targets of a load in turn, slice by slice. Each slice counts as a round; each round begins with
 * another target. Failures of other targets are added to `broken`.
 */
export async function measure(
  load: Load,
  stage: Stage,
  round: number,
  seconds: number,
  broken: Set<string>,
): Promise<Piece[]> {
  const targets = targetsOf(load, stage);
  const turned = targets.map((_, i) => targets[(i + round) % targets.length] as Target);
  const pieces: Piece[] = [];
  const context = contextOf(stage, load.lasting * (load.slices === 1 ? seconds : sliceLength * seconds));
  const turns = Array.from({ length: load.slices }, (_, slice) => turned.map((target) => ({ slice, target }))).flat();
  for (const { slice, target } of turns) {
    letRun(target, stage);
    try {
      const figures = await load.measure(target, context);
      pieces.push({ load: load.name, target: target.name, round: round * load.slices + slice, figures });
    } catch (error) {
      const what = `${load.name} on ${target.name}: ${(error as Error).message}`;
      if (target.name !== "portkey") throw new Error(what, { cause: error });
      // Failures of other targets are reported, and not counted as the gateway's.
      broken.add(what);
    }
  }
  return pieces;
}

/** Measured is what was measured, and how it is reported. */
export interface Measured extends Pick<ReportInit, "rows" | "loads" | "method"> {
  readonly pieces: readonly Piece[];
  /** file is where it is saved, beside the bench and without its ending. */
  readonly file: string;
  /** title is the heading of what is saved, where it has one. */
  readonly title?: string;
  readonly notes: readonly string[];
}

/** measureRounds measures all loads in each round. */
export async function measureRounds(
  chosen: readonly Load[],
  stage: Stage,
  { rounds, seconds }: Pick<Options, "rounds" | "seconds">,
  broken: Set<string>,
): Promise<Piece[]> {
  const pieces: Piece[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const load of chosen) {
      tell(`round ${round + 1} of ${rounds}, ${load.name}`);
      pieces.push(...(await measure(load, stage, round, seconds, broken)));
    }
  }
  return pieces;
}

/** verify sends one request and checks the answer. Throws if it is wrong. */
export async function verify({ name, sent }: Load, target: Target): Promise<void> {
  if (!sent) return;
  const { port, bytes } = askedOf(target, sent);
  const connection = await open(port);
  const { status, text } = await connection.ask(bytes);
  connection.close();
  const isRight = status === 200 && text.length > 500 && text.includes(sent.expects);
  if (!isRight) throw new Error(`${target.name} answers ${name} with ${status}: ${text.slice(0, 300)}`);
}
