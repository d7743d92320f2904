/** Makes keys, uses them at every node, revokes them, and goes on to use them: for how long do nodes still take them? */
import { Agent } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { askRpc, bearer } from "../support/dashboard/session.ts";
import { addKey, type FleetAccount } from "./accounts.ts";
import { type Balancer, statusOf } from "./balance.ts";
import type { FleetNode } from "./node.ts";
import type { Stage } from "./stage.ts";

export interface Revocation {
  /** What became of notifications while it was made. */
  readonly notices: "pass" | "kept" | "silent";
  /** How long after it was told a request was sent that a node still took, in milliseconds: the latest; 0 for none. */
  readonly latestMs: number;
  /** How many requests came after it was told, and were refused. */
  readonly refused: number;
  /** When it was told that the key was revoked, by `performance.now()`. */
  readonly toldAt: number;
}

export interface Revoking {
  readonly revocations: readonly Revocation[];
  end(): Promise<void>;
}

/** For how long a revoked key is tried, how often, and the pause between two keys; in milliseconds. */
const [tryMs, everyMs, pauseMs] = [2500, 40, 600];

export function startRevoking(stage: Stage, balancer: Balancer, notices: () => Revocation["notices"]): Revoking {
  const revocations: Revocation[] = [];
  const agent = new Agent({ keepAlive: true });
  const account = stage.accounts.find(({ kind }) => kind === "postpaid") as FleetAccount;
  let isOver = false;

  async function revokeOne(): Promise<void> {
    const key = await addKey(stage.storage, account);
    const ask = (node: FleetNode) => statusOf(`${node.rootUrl}/v1/models`, agent, bearer(key.secret));
    for (let i = 0; i < 2; i++) await Promise.all(stage.nodes.map((node) => ask(node)));
    const during = notices();
    for (let n = 0; !(await revoke(key.id, n)); n++) await delay(50);
    const toldAt = performance.now();
    const tried = await Promise.all(stage.nodes.map((node) => tryAt(() => ask(node), toldAt)));
    const latestMs = Math.max(...tried.map((one) => one.latestMs));
    revocations.push({ notices: during, latestMs, toldAt, refused: tried.reduce((sum, one) => sum + one.refused, 0) });
  }

  async function revoke(id: string, n: number): Promise<boolean> {
    const headers = bearer(account.adminKey);
    const signal = AbortSignal.timeout(2000);
    const told = await askRpc(balancer.choose(n), "KeyService.DeleteKey", { id }, headers, signal).catch(
      () => undefined,
    );
    // It is not found where an earlier try has revoked it, and its answer was lost.
    return told?.status === 200 || told?.status === 404;
  }

  const working = (async () => {
    while (!isOver) {
      await revokeOne();
      await delay(pauseMs);
    }
  })();
  return {
    revocations,
    async end() {
      isOver = true;
      await working;
      agent.destroy();
    },
  };
}

async function tryAt(ask: () => Promise<number>, toldAt: number) {
  let [latestMs, refused] = [0, 0];
  while (performance.now() - toldAt < tryMs) {
    const sentMs = performance.now() - toldAt;
    const status = await ask();
    if (status === 200) latestMs = sentMs;
    else if (status !== 0) refused++;
    await delay(everyMs);
  }
  return { latestMs, refused };
}
