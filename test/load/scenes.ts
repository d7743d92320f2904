/**
 * What callers see of upstreams that die under load: with two targets, one of which dies once or again and again, and with
 * one that is dead.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Config } from "../../src/config/config.ts";
import { startTestGateway } from "../support/gateway.ts";
import { price } from "../support/upstreams/paid-models.ts";
import { type Fate, offer } from "./callers.ts";
import { type MortalUpstream, startMortalUpstream } from "./mortal-upstream.ts";

export interface Load {
  readonly perSecond: number;
  readonly seconds: number;
}

/** What was seen. */
export interface Figures {
  readonly scene: string;
  readonly calls: number;
  readonly answered: number;
  /** Streams that broke off after their first content. */
  readonly broken: number;
  /** Calls that failed before anything of an answer. */
  readonly failed: number;
  /** What the one that dies was sent, and the other. */
  readonly received: readonly [mortal: number, other: number];
  /** In milliseconds, of those that were answered. */
  readonly median: number;
  readonly slowest: number;
  /** How far the callers fell behind: where it is seconds the machine is too busy for the figures to mean anything. */
  readonly late: number;
  /** Bounds that do not hold. */
  readonly missed: readonly string[];
}

/** A target dies in the middle and does not come back. */
export function oneDies(load: Load): Promise<Figures> {
  const half = (load.perSecond * load.seconds) / 2;
  const play = async ({ mortal, other }: Stage, isOver: () => boolean) => {
    // In the middle of several answers, however busy the machine is.
    while (!isOver() && (mortal.received + other.received < half || mortal.streaming < 5)) await delay(5);
    await delay(30);
    await mortal.die();
  };
  return scene("one of two targets dies", load, play, ({ failed }) =>
    failed === 0 ? [] : [`${failed} calls failed, and none may`],
  );
}

/** A target dies and comes back, again and again, after so many seconds each. */
export function oneFlaps(load: Load, everySeconds: number): Promise<Figures> {
  const play = async ({ mortal }: Stage) => {
    for (let at = everySeconds; at < load.seconds; at += everySeconds) {
      await delay(everySeconds * 1000);
      await (Math.round(at / everySeconds) % 2 === 1 ? mortal.die() : mortal.revive());
    }
  };
  return scene(`one of two targets flaps every ${everySeconds} s`, load, play, ({ failed, calls }) =>
    failed < calls / 1000 ? [] : [`${failed} of ${calls} calls failed, and less than a thousandth may`],
  );
}

/** The only target takes every request, and resets the connection. */
export function onlyOneIsDead(load: Load, breaker: Config["breaker"]): Promise<Figures> {
  const play = async ({ mortal }: Stage) => mortal.refuse();
  const words = breaker.failures > load.perSecond * load.seconds ? ", and no breaker" : "";
  const bound = ({ received: [mortal], calls }: Figures) =>
    mortal <= calls * 1.2 ? [] : [`it received ${mortal} requests for ${calls} calls, and a fifth more is the most`];
  return scene(`the only target is dead${words}`, load, play, bound, { targets: ["mortal"], breaker });
}

export const asOperated = { failures: 5, openMs: 5000 };

interface Stage {
  readonly mortal: MortalUpstream;
  readonly other: MortalUpstream;
}

interface Setting {
  readonly targets: readonly string[];
  readonly breaker: Config["breaker"];
}

async function scene(
  name: string,
  load: Load,
  play: (stage: Stage, isOver: () => boolean) => Promise<void>,
  bound: (figures: Figures) => readonly string[],
  setting: Setting = { targets: ["mortal", "other"], breaker: asOperated },
): Promise<Figures> {
  const [mortal, other] = [await startMortalUpstream(), await startMortalUpstream()];
  const gateway = await startTestGateway(configuration(mortal, other, setting), { clock: Date.now });
  try {
    const { rootUrl, apiKey } = gateway;
    let isOver = false;
    // What it does at once is done before the first call.
    const playing = play({ mortal, other }, () => isOver);
    const fates = await offer({ rootUrl, apiKey, model: "m", ...load });
    isOver = true;
    await playing;
    const figures = { scene: name, ...counted(fates), received: [mortal.received, other.received] as const };
    const { findings } = await gateway.storage.reconcile();
    const books = findings.length === 0 ? [] : [`the books do not balance: ${findings.length} findings`];
    const missed = [...bound({ ...figures, missed: [] }), ...books];
    return { ...figures, missed };
  } finally {
    await gateway.close();
    await Promise.all([mortal.close(), other.close()]);
  }
}

function configuration(mortal: MortalUpstream, other: MortalUpstream, { targets, breaker }: Setting): Partial<Config> {
  const upstreams = [
    { name: "mortal", kind: "openai" as const, base_url: mortal.baseUrl, api_key: "k" },
    { name: "other", kind: "openai" as const, base_url: other.baseUrl, api_key: "k" },
  ];
  const places = targets.map((upstream) => ({ upstream, model: "far", priority: 0, weight: 1 }));
  const model = { id: "m", aliases: [], family: "f", kind: "chat" as const, price, targets: places };
  return {
    ...{ upstreams, models: [model], embeddedModels: false, breaker },
    retries: { attempts: 3, share: 0.15 },
    tiers: [{ name: "Endless", recharge: 0, requestsPerMinute: 1_000_000, tokensPerMinute: undefined }],
  };
}

function counted(fates: readonly Fate[]): Omit<Figures, "scene" | "received" | "missed"> {
  const count = (end: Fate["end"]) => fates.filter((fate) => fate.end === end).length;
  const times = fates
    .filter(({ end }) => end === "answered")
    .map(({ ms }) => ms)
    .sort((a, b) => a - b);
  return {
    calls: fates.length,
    answered: count("answered"),
    broken: count("broken"),
    failed: count("failed"),
    median: times[Math.floor(times.length / 2)] ?? 0,
    slowest: times.at(-1) ?? 0,
    late: Math.max(...fates.map(({ lateMs }) => lateMs)),
  };
}
