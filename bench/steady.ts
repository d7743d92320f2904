/**
 * Streams that go on: a hundred, opened once, and read in windows one after the other. Streams that have just begun have
 * their targets collect what they will keep; the other paced loads, which open theirs anew for each piece, show that.
 */
import { requestBytes } from "./clients/http.ts";
import { readWindows } from "./clients/paced.ts";
import { percentiles } from "./loads.ts";
import { chatRequest, models } from "./payloads.ts";
import type { Piece } from "./results.ts";
import type { UpstreamPorts } from "./servers/gateway.ts";
import type { Target, TargetName } from "./targets.ts";

export interface SteadyContext {
  readonly upstreams: UpstreamPorts;
  /** How many windows there are. */
  readonly rounds: number;
  /** How long pieces of other loads are measured. */
  readonly seconds: number;
}

const targets: readonly TargetName[] = ["direct", "gateway"];
const pace = { connections: 100, everyMs: 20 };
/** How many times as long as a piece a window takes, and before all of them the time in which what streams keep has grown old. */
const lasting = 3.6;
const settling = 15;

export const steady = {
  name: "steady-100",
  about: "100 streams of 50 chunks/s that go on",
  targets,
  /** What was taken in each window, as of a round. */
  async run(target: Target, { upstreams, rounds, seconds }: SteadyContext): Promise<readonly Piece[]> {
    const body = chatRequest(models.paced(pace.everyMs), 1000, { stream: true });
    const bytes = requestBytes("/v1/chat/completions", target.headers("stub"), body);
    const times = { warmSeconds: (target.program ? settling : 1) * seconds, seconds: lasting * seconds };
    const asked = { ...pace, ...times, port: target.ports.stub, bytes, stub: upstreams.stub };
    const windows = await readWindows(asked, rounds);
    return windows.map((delays, round) => {
      return { load: steady.name, target: target.name, round, figures: percentiles(delays) };
    });
  },
};
