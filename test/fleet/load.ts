/** The callers of the fleet: all kinds of accounts and forms of calls at once, for the whole run; and who recharges what ran dry. */
import { randomUUID } from "node:crypto";
import { Agent } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { askRpc, bearer } from "../support/dashboard/session.ts";
import { randomOf } from "../support/run/random.ts";
import { addKey, creditOf, type FleetAccount, type Kind } from "./accounts.ts";
import { type Balancer, startBalancer } from "./balance.ts";
import { type ClientCall, type Form, makeCall } from "./call.ts";
import type { Stage } from "./stage.ts";
import type { Stalls } from "./stalls.ts";

export interface Load {
  /** Every call so far that is over. */
  readonly calls: readonly ClientCall[];
  readonly balancer: Balancer;
  /** How often somebody recharged, and how often that had to be repeated. */
  readonly recharges: { told: number; repeated: number };
  /** Lets all calls end. */
  end(): Promise<void>;
}

const clients = 20;
/** How often each account that is `rated` sends a call, in milliseconds; more than its tier allows. */
const ratedMs = 25;
/** Calls that such an account has open at most: more than that are not sent. */
const ratedOpen = 16;

interface Parts {
  readonly stage: Stage;
  readonly balancer: Balancer;
  readonly calls: ClientCall[];
  readonly agent: Agent;
  readonly random: () => number;
  readonly nextNumber: () => number;
  readonly isOver: () => boolean;
}

export function startLoad(stage: Stage, seed: number, stalls: Stalls): Load {
  let [isOver, number] = [false, 0];
  const balancer = startBalancer(stage.nodes, stalls);
  const agent = new Agent({ keepAlive: true, maxSockets: 1000 });
  const calls: ClientCall[] = [];
  const recharges = { told: 0, repeated: 0 };
  const parts: Parts = {
    ...{ stage, balancer, calls, agent, random: randomOf(seed), nextNumber: () => number++, isOver: () => isOver },
  };
  const working = [
    ...Array.from({ length: clients }, () => workAsClient(parts)),
    ...stage.accounts.filter(({ kind }) => kind === "rated").map((account) => sendAtRate(parts, account)),
    recharge(parts, recharges),
  ];
  return {
    ...{ calls, balancer, recharges },
    async end() {
      isOver = true;
      await Promise.all(working);
      agent.destroy();
    },
  };
}

/** Of a hundred calls, which kind of account makes how many. */
const shares: readonly (readonly [Kind, number])[] = [
  ["ample", 34],
  ["postpaid", 15],
  ["limited", 12],
  ["draining", 22],
  ["scarce", 17],
];

async function workAsClient(parts: Parts): Promise<void> {
  const { stage, random, isOver } = parts;
  while (!isOver()) {
    const kind = kindAt(random() * 100);
    const able = stage.accounts.filter((account) => account.kind === kind);
    const account = able[Math.floor(random() * able.length)] as FleetAccount;
    const call = await callOf(parts, account, formOf(kind, random()));
    await delay(call.status === undefined ? 50 : 10 + random() * 40);
  }
}

function kindAt(place: number): Kind {
  let sum = 0;
  for (const [kind, share] of shares) {
    sum += share;
    if (place < sum) return kind;
  }
  return "ample";
}

async function callOf(parts: Parts, account: FleetAccount, form: Form): Promise<ClientCall> {
  const { balancer, random, calls, agent } = parts;
  const number = parts.nextNumber();
  const node = balancer.choose(Math.floor(random() * 6));
  const leaves = form === "stream" && random() < 0.05;
  const isLong = form === "stream" && random() < 0.04;
  const ms = Math.round(isLong ? 2000 + random() * 6000 : 5 + random() * (form === "stream" ? 400 : 40));
  const call = await makeCall({ number, form, account, node, agent, ms, leaves });
  calls.push(call);
  if (call.status === undefined) balancer.failed(node);
  if (call.status === 402) await ranDry(parts, account, call);
  return call;
}

/** An account that drains makes small calls, so that its credit is for many. */
function formOf(kind: Kind, place: number): Form {
  if (kind === "draining") return "embeddings";
  if (place < 0.45) return "chat";
  return place < 0.85 ? "stream" : "embeddings";
}

/** A limited account goes on with another key; others wait for a recharge. */
async function ranDry({ stage }: Parts, account: FleetAccount, { key }: ClientCall): Promise<void> {
  if (account.kind === "limited" && account.key === key) account.key = await addKey(stage.storage, account);
  account.dryAt ??= performance.now();
}

async function sendAtRate(parts: Parts, account: FleetAccount): Promise<void> {
  const open = new Set<Promise<unknown>>();
  for (let due = performance.now(); !parts.isOver(); due += ratedMs) {
    await delay(Math.max(0, due - performance.now()));
    if (open.size >= ratedOpen) continue;
    const call = callOf(parts, account, "chat").finally(() => open.delete(call));
    open.add(call);
  }
  await Promise.all(open);
}

/** For how long an account stays dry, in milliseconds. */
const dryMs = 1500;

async function recharge(parts: Parts, count: Load["recharges"]): Promise<void> {
  const { stage, isOver } = parts;
  while (!isOver()) {
    await delay(100);
    for (const account of stage.accounts) {
      const amount = creditOf[account.kind];
      if (amount === undefined || account.dryAt === undefined || performance.now() - account.dryAt < dryMs) continue;
      await credit(parts, account, amount, count);
      account.dryAt = undefined;
    }
  }
}

/** Recharges an account once, however often it has to be asked. */
async function credit(
  { stage, balancer, random }: Parts,
  account: FleetAccount,
  amount: number,
  count: Load["recharges"],
) {
  const headers = { ...bearer(stage.operatorKey), "idempotency-key": randomUUID() };
  const request = { account: account.id, kind: "ENTRY_KIND_RECHARGE", amount: String(amount) };
  for (;;) {
    const node = balancer.choose(Math.floor(random() * 6));
    const signal = AbortSignal.timeout(4000);
    const told = await askRpc(node, "OperatorService.RecordEntry", request, headers, signal).catch(() => undefined);
    if (told?.status === 200) break;
    if (told && told.status !== 503 && told.status !== 409)
      throw new Error(`recharge: ${told.status} ${JSON.stringify(told.json)}`);
    count.repeated++;
    await delay(200);
  }
  count.told++;
  account.credits.push({ amount, at: performance.now() });
}
