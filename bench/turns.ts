/** How a target gets its turn: all others stand still, it is warmed up, and then measured slice after slice. */
import { open } from "./clients/http.ts";
import type { Load, MeasureContext } from "./loads.ts";
import { folder, tell } from "./program.ts";
import type { Piece } from "./results.ts";
import { askedOf } from "./sent.ts";
import type { Stage, Target } from "./targets.ts";

/**
 * How many times as long as a piece is measured a target runs a load beforehand: the first of its kind, and others; and how many
 * times as long as that where streams are paced, of which few run in a second.
 */
const warmings = { first: 8, other: 1, paced: 2 };
/** What part of the time that it is measured a target has before that to find its connections again. */
const again = 1 / 5;
/** What part of that time a slice takes, where there are several. */
const sliceLength = 0.4;

export function targetsOf({ targets }: Pick<Load, "targets">, stage: Stage): Target[] {
  return targets.flatMap((name) => stage.targets.get(name) ?? []);
}

/**
 * Runs until most of what runs often is compiled: that takes an engine some ten seconds, and is no cost of a call. The first load
 * comes once more at the end, for what the engine has learned by all others has it compile anew.
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

/** All others stand still meanwhile: what an engine clears up after its load would be felt by the next, on the same core. */
export function letRun(target: Target, { targets }: Stage): void {
  for (const { program } of targets.values()) program?.pause();
  target.program?.resume();
}

function contextOf({ upstreams }: Stage, seconds: number): MeasureContext {
  return { seconds, warmSeconds: again * seconds, folder, upstreams };
}

/**
 * The targets of a load in turn, slice after slice, each of which counts as a round; each round begins with another. What a target
 * of others breaks under is put into `broken`.
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
      // What others cannot carry is told, and not taken for ours.
      broken.add(what);
    }
  }
  return pieces;
}

/** Asks once, and looks at the answer. Throws where it is not what it should be. */
export async function verify({ name, sent }: Load, target: Target): Promise<void> {
  if (!sent) return;
  const { port, bytes } = askedOf(target, sent);
  const connection = await open(port);
  const { status, text } = await connection.ask(bytes);
  connection.close();
  const isRight = status === 200 && text.length > 500 && text.includes(sent.expects);
  if (!isRight) throw new Error(`${target.name} answers ${name} with ${status}: ${text.slice(0, 300)}`);
}
