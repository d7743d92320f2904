/** Starts the fleet, loads it, does to it what was planned, lets it come to rest, and judges what all were told. */
import { setTimeout as delay } from "node:timers/promises";
import type { ClientCall } from "./call.ts";
import { startLoad } from "./load.ts";
import { type Deed, makePlan, type Server } from "./plan.ts";
import type { Line } from "./report.ts";
import { type Revocation, startRevoking } from "./revocations.ts";
import { settle } from "./settle.ts";
import { type Stage, setStage } from "./stage.ts";
import { watchStalls } from "./stalls.ts";
import { judge } from "./verify/judge.ts";

export interface FleetOptions {
  readonly seconds: number;
  readonly seed: number;
  /** Ends the load before its time. */
  readonly signal: AbortSignal;
  /** Told of what is done, and when: in milliseconds from the beginning of the load. */
  readonly onDeed: (ms: number, deed: Deed) => void;
  /** Told of what comes before and after the load. */
  readonly onPhase: (words: string) => void;
}

export interface Played {
  readonly lines: readonly Line[];
  /** What the nodes logged. */
  readonly logged: readonly string[];
  /** What clients were told, and what was done to the nodes, as data. */
  readonly told: { readonly calls: readonly object[]; readonly spans: readonly object[] };
}

export async function playFleet({ seconds, seed, signal, onDeed, onPhase }: FleetOptions): Promise<Played> {
  const plan = makePlan(seconds, seed);
  const until = (at: number) =>
    delay(Math.max(0, at - performance.now()), undefined, { signal }).catch(() => {
      // It is to end now.
    });
  const stage = await setStage();
  try {
    onPhase("the gateways are started");
    await Promise.all(stage.nodes.map((node) => node.start()));
    const stalls = await watchStalls(stage);
    const load = startLoad(stage, seed, stalls);
    await load.balancer.allReady();
    let notices: Revocation["notices"] = "pass";
    const revoking = startRevoking(stage, load.balancer, () => notices);
    onPhase("the load begins");
    const [begin, doing] = [performance.now(), [] as Promise<void>[]];
    for (const { at, deed } of plan.planned) {
      await until(begin + at);
      if (signal.aborted) break;
      onDeed(performance.now() - begin, deed);
      doing.push(deed.kind === "notices" ? keepNotices(stage, deed, (now) => (notices = now)) : act(stage, deed));
    }
    await until(begin + seconds * 1000);
    onPhase("nothing is done to them any more");
    await Promise.all(doing);
    await load.balancer.allReady();
    await revoking.end();
    const endedAt = performance.now();
    await load.end();
    load.balancer.close();
    await stalls.close();
    onPhase("the load has ended; all come to rest");
    const settled = await settle(stage);
    onPhase("all that was told is judged");
    const lines = judge({ stage, load, plan, settled, span: [begin, endedAt], revocations: revoking.revocations });
    const told = { calls: load.calls.map(plain), spans: stage.history.spans };
    return { lines, logged: stage.nodes.map((node) => node.logged()), told };
  } finally {
    await stage.close();
  }
}

/** A call as data: its account by its kind, and no secret. */
function plain({ account, key, ...call }: ClientCall): object {
  return { ...call, kind: account.kind, accountId: account.id, keyId: key.id };
}

async function act(stage: Stage, deed: Exclude<Deed, { kind: "notices" }>): Promise<void> {
  if (deed.kind === "kill") return stage.nodes[deed.node]?.kill();
  if (deed.kind === "pause") return pause(stage, deed);
  const proxies = deed.nodes.map((n) => ({ n, proxy: proxyOf(stage, n, deed.server) }));
  if (deed.kind === "cut") {
    for (const { n, proxy } of proxies) {
      proxy.cut();
      stage.history.note(deed.server, n);
    }
    return;
  }
  const ends = proxies.map(({ n, proxy }) => {
    proxy.set(deed.way);
    return stage.history.begin(deed.server, n);
  });
  await delay(deed.ms);
  for (const [i, { proxy }] of proxies.entries()) {
    proxy.set("forward");
    ends[i]?.();
  }
}

function proxyOf({ nodes }: Stage, n: number, server: Server) {
  const node = nodes[n];
  if (!node) throw new Error(`there is no node ${n}`);
  return node[server];
}

async function pause({ nodes, history }: Stage, { node: n, ms }: Extract<Deed, { kind: "pause" }>): Promise<void> {
  const node = nodes[n];
  node?.pause();
  const end = history.begin("paused", n);
  await delay(ms);
  node?.resume();
  end();
}

/** How often connections that listen are made silent: nodes open others. */
const silentEveryMs = 2000;

async function keepNotices(
  { nodes }: Stage,
  { way, ms }: Extract<Deed, { kind: "notices" }>,
  tell: (now: Revocation["notices"]) => void,
): Promise<void> {
  tell(way);
  if (way === "kept") {
    for (const { postgres } of nodes) postgres.keepNotices(true);
    await delay(ms);
    for (const { postgres } of nodes) postgres.keepNotices(false);
  } else {
    for (let left = ms; left > 0; left -= silentEveryMs) {
      for (const { postgres } of nodes) postgres.silenceListeners();
      await delay(silentEveryMs);
    }
  }
  tell("pass");
}
