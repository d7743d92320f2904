/**
 * HeldBucket is what a process has of a shared bucket: the slice at hand, what it last heard of the rest, and what it used that it
 * has not told yet. While the bucket's keeper is away it is the process's own share of the bucket.
 */
import { decide, fullOf } from "./bucket.ts";
import type { Ask, Slice } from "./contract.ts";
import { sliceMs } from "./contract.ts";
import type { Decision, Rate } from "./limiter.ts";

export interface HeldBucket {
  readonly id: string;
  rate: Rate;
  /** Units of the slice at hand, and when it was granted. */
  left: number;
  leftAt: number;
  /** Units used beyond slices that the keeper was not told of. Negative: given back. */
  drawn: number;
  /** parts are what the bucket held, in parts, when the keeper last told it: at `toldAt`, or never. */
  parts: number;
  toldAt: number;
  /** Units taken since `usedSince`, the moment of the last ask: that is how fast the next slice will be used. */
  used: number;
  usedSince: number;
  /** Until this moment a cost of at least `emptyCost` is refused without asking. */
  emptyUntil: number;
  emptyCost: number;
  waiting: WaitingCall[];
  isAsking: boolean;
  share: Share | undefined;
}

export interface WaitingCall {
  readonly cost: number;
  resolve(decision: Decision): void;
  reject(error: unknown): void;
}

/** Share is a process's part of a bucket whose keeper is away. `parts` are multiplied by `nodes`, and so are integers. */
interface Share {
  parts: number;
  at: number;
  readonly nodes: number;
}

export function newHeldBucket(id: string, { capacity, windowMs }: Rate, now: number): HeldBucket {
  return {
    id,
    rate: { capacity, windowMs },
    left: 0,
    leftAt: now,
    drawn: 0,
    parts: 0,
    toldAt: Number.NEGATIVE_INFINITY,
    used: 0,
    usedSince: now,
    emptyUntil: Number.NEGATIVE_INFINITY,
    emptyCost: 0,
    waiting: [],
    isAsking: false,
    share: undefined,
  };
}

/** decideHeld decides from what is at hand. Returns undefined where the keeper must be asked. */
export function decideHeld(held: HeldBucket, cost: number, now: number): Decision | undefined {
  if (cost === 0) return now - held.toldAt < sliceMs ? look(held, now) : undefined;
  if (held.left >= cost && !isStale(held, now)) return take(held, cost, now);
  if (cost >= held.emptyCost && now < held.emptyUntil) return refuse(held, cost, now);
  return undefined;
}

/** decideAnswered decides just after the keeper has answered: what is not at hand now is refused. */
export function decideAnswered(held: HeldBucket, cost: number, now: number): Decision {
  if (cost === 0) return look(held, now);
  if (held.left >= cost) return take(held, cost, now);
  const refusal = refuse(held, cost, now);
  held.emptyUntil = now + Math.min(sliceMs, refusal.retryAfterMs);
  held.emptyCost = cost;
  return refusal;
}

/** drawHeld notes what was used beyond slices, to be told. What would lead deeper into debt than one window is never told. */
export function drawHeld(held: HeldBucket, cost: number, now: number): void {
  const { rate, left } = held;
  const most = Math.floor((levelAt(held, now) + fullOf(rate)) / rate.windowMs) + left;
  held.drawn = Math.min(most, held.drawn + cost);
  if (cost < 0) held.emptyUntil = Number.NEGATIVE_INFINITY;
}

/** askOf returns the ask for the calls that wait, and takes what it tells of from `held`. */
export function askOf(held: HeldBucket, now: number): Ask {
  const { id, rate, waiting } = held;
  if (isStale(held, now)) {
    held.drawn -= held.left;
    held.left = 0;
  }
  const costs = waiting.map(({ cost }) => cost).filter((cost) => cost > 0);
  const need = costs.length === 0 ? 0 : Math.max(0, costs.reduce((sum, cost) => sum + cost, 0) - held.left);
  const least = need === 0 ? 0 : Math.max(1, Math.min(...costs) - held.left);
  const expected = Math.round((held.used / Math.max(5, now - held.usedSince)) * sliceMs);
  const spare = need === 0 ? 0 : Math.max(0, expected - need);
  const { drawn } = held;
  held.drawn = 0;
  if (need > 0) {
    held.used = 0;
    held.usedSince = now;
  }
  return { id, rate, least, need, spare, drawn };
}

/** receive puts the answer to an ask into `held`. */
export function receive(held: HeldBucket, { units, parts }: Slice, now: number): void {
  held.parts = parts;
  held.toldAt = now;
  if (units > 0) held.leftAt = now;
  held.left += units;
}

/** isStale reports whether a slice was unused for so long that others should have it. */
export function isStale({ left, leftAt }: HeldBucket, now: number): boolean {
  return left > 0 && now - leftAt > 2 * sliceMs;
}

/** decideShare decides while the keeper is away, by this process's share: the rate divided by `nodes`. */
export function decideShare(held: HeldBucket, cost: number, now: number, nodes: number): Decision {
  if (cost > 0 && held.left >= cost) return take(held, cost, now);
  const { capacity, windowMs } = held.rate;
  const share = refilledShare(held, now, nodes, cost);
  const scaled = { capacity, windowMs: windowMs * share.nodes };
  const decision = decide(scaled, share.parts, cost);
  if (decision.allowed) share.parts -= cost * scaled.windowMs;
  return { ...decision, resetMs: Math.ceil(Math.max(0, fullOf(held.rate) - share.parts) / capacity) };
}

export function drawShare(held: HeldBucket, cost: number, now: number, nodes: number): void {
  const share = refilledShare(held, now, nodes, 0);
  share.parts = Math.max(-fullOf(held.rate), share.parts - cost * held.rate.windowMs * share.nodes);
}

/** isShareFull reports whether this process's share is full again, which is as good as none. */
export function isShareFull({ share, rate }: HeldBucket, now: number): boolean {
  return !share || share.parts + (now - share.at) * rate.capacity >= roomOf(rate, share.nodes, 0);
}

/**
 * endShare ends the share once the keeper is back, and makes what was taken from it something to be told. The keeper refilled the whole
 * bucket meanwhile, so this process's part of it is full up to what the share lacks: all processes together tell what is missing.
 */
export function endShare(held: HeldBucket, now: number): void {
  if (!held.share) return;
  const { parts, nodes } = refilledShare(held, now, held.share.nodes, 0);
  held.share = undefined;
  held.drawn += Math.max(0, Math.round((levelAt(held, now) - parts) / (nodes * held.rate.windowMs)));
}

/** refilledShare returns the share, refilled up to now. */
function refilledShare(held: HeldBucket, now: number, nodes: number, cost: number): Share {
  const { rate } = held;
  if (!held.share) {
    const level = levelAt(held, now);
    held.share = { parts: level < fullOf(rate) ? level : roomOf(rate, nodes, cost), at: now, nodes };
  }
  const { share } = held;
  share.parts = Math.min(roomOf(rate, share.nodes, cost), share.parts + (now - share.at) * rate.capacity);
  share.at = now;
  return share;
}

/** roomOf returns what a share holds when it is full: room for one call at least, however many nodes there are. */
function roomOf(rate: Rate, nodes: number, cost: number): number {
  return Math.max(fullOf(rate), Math.max(1, cost) * rate.windowMs * nodes);
}

function look(held: HeldBucket, now: number): Decision {
  return decide(held.rate, totalAt(held, now), 0);
}

function take(held: HeldBucket, cost: number, now: number): Decision {
  const decision = decide(held.rate, Math.max(cost * held.rate.windowMs, totalAt(held, now)), cost);
  held.left -= cost;
  held.used += cost;
  return decision;
}

function refuse(held: HeldBucket, cost: number, now: number): Decision {
  return decide(held.rate, Math.min(cost * held.rate.windowMs - 1, totalAt(held, now)), cost);
}

/** totalAt returns what the bucket holds for this process, in parts: the slice at hand, and the rest as far as it is known. */
function totalAt(held: HeldBucket, now: number): number {
  return Math.min(fullOf(held.rate), levelAt(held, now) + (held.left - held.drawn) * held.rate.windowMs);
}

/** levelAt returns what the keeper's bucket holds now, if nobody else used it since. */
function levelAt({ parts, toldAt, rate }: HeldBucket, now: number): number {
  const full = fullOf(rate);
  return toldAt === Number.NEGATIVE_INFINITY ? full : Math.min(full, parts + (now - toldAt) * rate.capacity);
}
