/**
 * Long-lived streams: a hundred, opened once, left to settle, and read in consecutive windows. The paced loads of
 * `loads.ts` open new ones for each piece and so show the cost of beginning: V8 copies what streams retain.
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
  /** rounds is the number of windows; each counts as a round. */
  readonly rounds: number;
  /** seconds is how long pieces of other loads are measured. */
  readonly seconds: number;
}

export interface SteadyLoad {
  readonly name: string;
  readonly about: string;
  readonly targets: readonly TargetName[];
  /** run reads the windows, one for each round. */
  run(target: Target, context: SteadyContext): Promise<readonly Piece[]>;
}

/** lasting is the length of a window in pieces of other loads: two seconds for 0.52. */
const lasting = 3.8;
/**
 * settling is how long streams are left alone before the first window, in the same unit: eighteen seconds, until what
 * they retain is old.
 */
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
      // The upstream itself retains nothing.
      const warmSeconds = target.program ? settling * seconds : seconds;
      const asked = { ...pace, ...askedOf(target, sent), stub: upstreams.stub };
      const windows = await readWindows({ ...asked, warmSeconds, seconds: lasting * seconds }, rounds);
      return windows.map((delays, round) => {
        return { load: name, target: target.name, round, figures: percentiles(delays) };
      });
    },
  };
}
