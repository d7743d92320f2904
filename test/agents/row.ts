/** One agent over one upstream: its scenes, and what the gateway's books and log say afterwards. */
import { Outcome } from "../../gen/modelgateway/v1/usage_pb.ts";
import type { Agent, SceneName } from "./agent.ts";
import type { UpstreamName } from "./model/server.ts";
import { type Player, scenes } from "./scenes.ts";
import { type Ran, runProgram } from "./spawned.ts";
import { type Stage, setStage } from "./stage.ts";

export interface Row {
  readonly agent: Agent;
  readonly upstream: UpstreamName;
  /** Undefined where a scene has come out as it must, else why not. A scene that the agent lacks is not there. */
  readonly scenes: ReadonlyMap<SceneName, string | undefined>;
  /** What is wrong beside the scenes. */
  readonly faults: readonly string[];
  readonly seconds: number;
  /** From the agent's start to its first request at the upstream, the median of its runs. */
  readonly firstRequestMs: number | undefined;
}

export async function playRow(agent: Agent, file: string, upstream: UpstreamName, keep: boolean): Promise<Row> {
  const stage = await setStage(agent, upstream, keep);
  if (keep) console.log(`  ${stage.folder}`);
  const player: Player = { agent, file, stage, runs: [] };
  const startedAt = performance.now();
  const played = new Map<SceneName, string | undefined>();
  for (const [name, play] of scenes) {
    if (agent.lacks[name] !== undefined) continue;
    const fault = await play(player).then(() => undefined, messageOf);
    played.set(name, fault);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const firstRequestMs = median(player.runs.flatMap((ran) => waitIn(ran, stage)));
  const faults = [...(await faultsOf(stage)), ...(await tooLate(player, firstRequestMs))];
  await stage.close().catch((error: unknown) => void faults.push(messageOf(error)));
  return { agent, upstream, scenes: played, faults, seconds, firstRequestMs };
}

function waitIn({ startedAt, tookMs }: Ran, { server }: Stage): number[] {
  const first = server.played.find(({ at }) => at >= startedAt && at <= startedAt + tookMs);
  return first === undefined ? [] : [first.at - startedAt];
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** On a machine that does much else, its bound is what telling its version takes, so many times. */
const versionsLong = 15;

async function tooLate({ agent, file, stage }: Player, firstRequestMs: number | undefined): Promise<string[]> {
  const { startsWithinMs: bound } = agent;
  if (bound === undefined || (firstRequestMs ?? 0) <= bound) return [];
  const { home, folder } = stage;
  const { tookMs } = await runProgram({ file, args: ["--version"], cwd: folder, home, env: {} });
  if ((firstRequestMs as number) <= versionsLong * tookMs) return [];
  const [first, version] = [firstRequestMs as number, tookMs].map(Math.round);
  return [`its first request arrived after ${first} ms, and its version takes ${version} ms`];
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/**
 * What the upstream has refused and the caller with it, what the gateway has, and calls that are not charged as they must be: one for each
 * request at the upstream. What the gateway has then sent as the upstream takes it is no fault.
 */
async function faultsOf({ gateway, server, books }: Stage): Promise<string[]> {
  const lines = gateway
    .logged()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { status?: number; rpc?: string; reason?: string });
  const failed = lines
    .filter(({ status = 200 }) => status >= 400)
    .map(({ rpc, status, reason }) => `${rpc}: ${status} ${reason}`);
  const refused = failed.length > 0 ? server.refused.map((words) => `the upstream: ${words}`) : [];
  const { requests } = await books.of({ ...gateway, begunWith: 0 });
  const charged = requests.filter(({ outcome, cost }) => outcome === Outcome.ANSWERED && cost > 0).length;
  const uncharged = charged === server.played.length ? [] : [`${charged} calls charged of ${server.played.length}`];
  return [...new Set([...failed, ...refused, ...uncharged])];
}
