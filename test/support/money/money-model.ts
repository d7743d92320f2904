/**
 * Tells what should come of a sequence of money's steps, in a few lines of arithmetic: the model that the ledger is held
 * against. One account, one key; every number in millionths of the unit.
 */
import type { Captured, Held } from "../../../src/storage/money/contract.ts";

/** A call, from its hold on. */
export interface ModelCall {
  readonly id: string;
  /** The process that made it. */
  readonly process: number;
  readonly amount: number;
  expiresAt: number;
  state: "held" | "lost" | "settled";
}

export interface MoneyModel {
  now: number;
  balance: number;
  recharged: number;
  postpaid: boolean;
  limit: number | null;
  spent: number;
  readonly calls: ModelCall[];
  readonly codes: { readonly amount: number; readonly hash: string; claimed: boolean }[];
  /** entries are what was moved: recharges, refunds and grants. */
  entries: number;
  charges: number;
  /** Since when each process has moved its deadlines on without a gap; undefined where that does not matter. */
  readonly steady: ProcessLife[] | undefined;
}

/** ProcessLife is what Postgres knows of a process. */
export interface ProcessLife {
  readonly since: number;
  readonly renewedAt: number;
}

/** On Postgres: how long a process is steady before it expires what others hold, and the longest gap between deadlines moved on. */
const [steadyMs, gapMs] = [30_000, 60_000];
/** On Postgres: the deadline of a hold is moved on where that is so much later. */
const worthMs = 20_000;

/** `needsSteady` says that the database is one of Postgres: there a process that comes back after an outage expires nothing at first. */
export function newMoneyModel(now: number, needsSteady: boolean): MoneyModel {
  const sums = { balance: 0, recharged: 0, spent: 0, entries: 0, charges: 0 };
  return { now, ...sums, steady: needsSteady ? [] : undefined, postpaid: false, limit: null, calls: [], codes: [] };
}

/** mostMoney is what an account may be credited in its life. */
const mostMoney = 6e15;

export function heldOf({ calls }: MoneyModel): number {
  return calls.reduce((sum, { state, amount }) => sum + (state === "held" ? amount : 0), 0);
}

/** Returns what is left of the account; nothing bounds one that is billed afterwards. */
export function leftOfBalance(model: MoneyModel): number {
  return model.postpaid ? Number.POSITIVE_INFINITY : model.balance - heldOf(model);
}

export function leftOfLimit(model: MoneyModel): number {
  return model.limit === null ? Number.POSITIVE_INFINITY : model.limit - model.spent - heldOf(model);
}

export interface ModelHold {
  readonly id: string;
  readonly process: number;
  readonly max: number;
  readonly min: number;
  readonly holdMs: number;
}

export function modelHold(model: MoneyModel, { id, process, max, min, holdMs }: ModelHold): Held {
  modelAsk(model, process);
  const ofBalance = leftOfBalance(model);
  const ofLimit = leftOfLimit(model);
  const available = Math.max(0, Math.min(ofBalance, ofLimit));
  const amount = Math.min(max, available);
  if (amount < min) return { kind: "short", of: ofLimit < ofBalance ? "limit" : "balance", available };
  model.calls.push({ id, process, amount, expiresAt: model.now + holdMs, state: "held" });
  return { kind: "held", amount };
}

export function modelSettle(model: MoneyModel, call: ModelCall, cost: number): Captured | undefined {
  modelAsk(model, call.process);
  if (call.state === "settled") return undefined;
  const released = call.state === "held" ? call.amount : 0;
  const left = Math.max(0, Math.min(leftOfBalance(model), leftOfLimit(model)));
  const charged = Math.min(cost, call.amount, released + left);
  call.state = "settled";
  model.spent += charged;
  model.balance -= charged;
  if (charged > 0) model.charges++;
  return { cost: charged, waived: cost - charged };
}

/** One process moves its own deadlines on, and frees what is past its own. */
export function modelSweep(model: MoneyModel, process: number, holdMs: number): void {
  const { now, calls, steady } = model;
  const held = calls.filter(({ state }) => state === "held");
  for (const call of held) {
    const isWorth = !steady || call.expiresAt < now + holdMs - worthMs;
    if (call.process === process && isWorth) call.expiresAt = now + holdMs;
  }
  if (steady && !isSteady(steady, process, now)) return;
  for (const call of held) if (call.expiresAt <= now) call.state = "lost";
}

/** Moves the process's own deadline on, and says whether it may expire what others hold. */
function isSteady(steady: ProcessLife[], process: number, now: number): boolean {
  const { since, renewedAt } = steady[process] ?? { since: now, renewedAt: now };
  const next = { since: now - renewedAt > gapMs ? now : since, renewedAt: now };
  steady[process] = next;
  return now - next.since >= steadyMs;
}

/** A process that asks the database for the first time is known to it from then on. */
function modelAsk({ steady, now }: MoneyModel, process: number): void {
  if (steady) steady[process] ??= { since: now, renewedAt: now };
}

/** A recharge, refund or grant. Returns whether it may be made. */
export function modelEntry(model: MoneyModel, kind: 1 | 2 | 3, amount: number): boolean {
  const change = kind === 2 ? -amount : amount;
  // Of what an account that is billed afterwards owes, nothing can be given back.
  if (kind === 2 && (model.recharged < amount || model.balance - heldOf(model) < amount)) return false;
  if (kind !== 2 && model.balance + model.spent + change > mostMoney) return false;
  model.balance += change;
  if (kind !== 3) model.recharged += change;
  model.entries++;
  return true;
}
