/**
 * Finds calls that were refused for want of credit (402) though they could have been paid.
 *
 * For each such call the least is reckoned that its account, or its key, had at any moment between its being sent and refused: all that was
 * credited and told by then, less what calls that were over had cost, less the most that each other call may hold at that
 * moment. Only where that covers the most that the call needs, all the time, it was refused wrongly. What is held for a call whose node
 * died, or could not write, counts as held for as long as that is stated to take. A `draining` account also lacks what nodes that died or
 * were cut off had leased: a part of it each, as small as leases are.
 */
import type { FleetAccount } from "../accounts.ts";
import type { ClientCall } from "../call.ts";
import { type Span, spansWithin } from "../history.ts";
import type { Line } from "../report.ts";
import { mostHeld } from "../upstream.ts";
import { callWords, kindOf, wholeCostOf } from "./charges.ts";
import type { Run } from "./judge.ts";

/** How long a hold lasts whose node is gone: its deadline, the next look, and the next merging; in milliseconds. */
const goneMs = 135_000;
/** How long the charge of a call whose client left may take, and of one that ended well. */
const [drainMs, chargeMs] = [8000, 1000];
/** Leases are at most this part of what an account has left. */
const leaseParts = 32;

/** What one call takes of its payer, from when to when. */
interface Use {
  readonly call: ClientCall;
  readonly from: number;
  /** Until then as much is held as can be. */
  readonly heldUntil: number;
  /** What it costs from then on. */
  readonly cost: number;
}

export function creditLine({ load: { calls }, stage: { history, accounts } }: Run): Line {
  const refused = calls.filter(({ status }) => status === 402);
  const bounded = new Set(["scarce", "draining", "limited"]);
  const faults = refused
    .filter(({ account }) => !bounded.has(account.kind))
    .map((call) => `${callWords(call)}: it always has credit`);
  let judged = 0;
  for (const account of accounts.filter(({ kind }) => bounded.has(kind))) {
    const uses = calls.filter((call) => call.account === account).map((call) => useOf(call, history.spans));
    for (const { call } of uses.filter((use) => use.call.status === 402)) {
      judged++;
      const least = leastOf(account, call, uses, history.spans);
      const enough = mostHeld[kindOf(call)];
      if (least >= enough) faults.push(`${callWords(call)}: ${least} were left at least, and ${enough} is enough`);
    }
  }
  const what = "no 402 that could have been paid";
  return { what, figure: `${refused.length} of ${calls.length} calls, ${judged} of accounts that run dry`, faults };
}

function useOf(call: ClientCall, spans: readonly Span[]): Use {
  const { status, end, sentAt, endedAt, node } = call;
  const isDisturbed =
    spansWithin(spans, [sentAt - 3000, endedAt + 3000], { troubles: ["down", "paused", "postgres"], node }).length > 0;
  const isRefused = status !== undefined && status !== 200;
  // A refusal holds nothing; one for want of the database may leave a hold until it is undone.
  if (isRefused) return { call, from: sentAt, heldUntil: status === 503 ? endedAt + goneMs : sentAt, cost: 0 };
  const ms = isDisturbed || end === "broken" ? goneMs : end === "left" ? drainMs : chargeMs;
  return { call, from: sentAt, heldUntil: endedAt + ms, cost: wholeCostOf(call) };
}

/** Returns the least that was left for a call while it was decided. */
function leastOf(account: FleetAccount, call: ClientCall, uses: readonly Use[], spans: readonly Span[]): number {
  const [from, to] = [call.sentAt, call.endedAt];
  const isOfKey = account.kind === "limited";
  const others = uses.filter((use) => use.call !== call && use.from <= to && (!isOfKey || use.call.key === call.key));
  const moments = [from, to, ...others.map((use) => use.from).filter((at) => at > from && at < to)];
  return Math.min(...moments.map((at) => leftAt(at)));

  function leftAt(at: number): number {
    const credited = isOfKey
      ? (call.key.limit ?? 0)
      : account.credits.filter((credit) => credit.at <= from).reduce((sum, { amount }) => sum + amount, 0);
    const used = others
      .filter((use) => use.from <= at)
      .reduce((sum, use) => sum + (use.heldUntil > at ? mostHeld[kindOf(use.call)] : use.cost), 0);
    const spent = others.filter((use) => use.heldUntil <= at).reduce((sum, use) => sum + use.cost, 0);
    return credited - used - (account.kind === "draining" ? leasedAway(at, credited - spent) : 0);
  }

  /** What nodes that died, or cannot be asked, may have leased. */
  function leasedAway(at: number, left: number): number {
    const gone = spansWithin(spans, [at - goneMs, at], { troubles: ["down", "paused", "postgres"] });
    const most = Math.max(left, ...account.credits.map(({ amount }) => amount));
    return gone.length * Math.ceil(most / leaseParts);
  }
}
