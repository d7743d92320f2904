/**
 * Streams that go on: a hundred, opened once, left to settle, and read in windows one right after the other. The paced loads
 * of `loads.ts` open theirs anew for each piece, and so show what a beginning costs: the engine copies what streams will keep.
 */
import { readWindows } from "./clients/paced.ts";
import { percentiles } from "./figures.ts";
import { models } from "./payloads.ts";
import type { Piece } from "./results.ts";
import { askedOf, chat } from "./sent.ts";
import type { UpstreamPorts } from "./servers/gateway.ts";
import type { Target, TargetName } from "./targets.ts";

export interface SteadyContext {
  readonly upstreams: UpstreamPorts;
  /** How many windows are read; each counts as a round. */
  readonly rounds: number;
  /** How long pieces of other loads are measured. */
  readonly seconds: number;
}

export interface SteadyLoad {
  readonly name: string;
  readonly about: string;
  readonly targets: readonly TargetName[];
  /** Reads the windows, one for each round. */
  run(target: Target, context: SteadyContext): Promise<readonly Piece[]>;
}

/** How long a window is, in pieces of other loads: two seconds for 0.52. */
const lasting = 3.8;
/** How long streams are left alone before the first window, in the same: eighteen seconds, until what they keep has grown old. */
const settling = 34;

export const steadyLoads: readonly SteadyLoad[] = [
  steady("steady-100", "100 streams of 50 chunks/s that go on", { connections: 100, everyMs: 20 }),
];

function steady(
  name: string,
  about: string,
  pace: { readonly connections: number; readonly everyMs: number },
): SteadyLoad {
  const sent = chat(1000, models.paced(pace.everyMs), { stream: true });
  return {
    ...{ name, about, targets: ["direct", "gateway"] },
    async run(target, { upstreams, rounds, seconds }) {
      // The upstream itself has nothing that grows old.
      const warmSeconds = target.program ? settling * seconds : seconds;
      const asked = { ...pace, ...askedOf(target, sent), stub: upstreams.stub };
      const windows = await readWindows({ ...asked, warmSeconds, seconds: lasting * seconds }, rounds);
      return windows.map((delays, round) => {
        return { load: name, target: target.name, round, figures: percentiles(delays) };
      });
    },
  };
}
