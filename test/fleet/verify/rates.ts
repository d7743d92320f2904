/**
 * How many calls of rate-limited accounts were let through, against what their rate allows.
 *
 * An account begins with a minute's requests, and gets its rate from then on; what its bucket in Redis still has at the end is not used. What
 * nodes let through while Redis was away is told to it when it is back. Only a node that dies before that tells nothing: what it
 * let through is counted apart, and is at most its share, the rate divided by the nodes. One that dies just after that may have told it or
 * not: neither too much nor too little is concluded from such calls. One that is started while Redis is away begins with its share of a
 * minute.
 */
import { type FleetAccount, slowPerMinute } from "../accounts.ts";
import type { Left } from "../buckets.ts";
import type { ClientCall } from "../call.ts";
import { isStalled, type Span, spansWithin } from "../history.ts";
import { nodeCount } from "../plan.ts";
import type { Line } from "../report.ts";
import type { Run } from "./judge.ts";

const tolerance = 0.01;
/**
 * How many calls too few are nothing in a short run. What a node has of a slice, or is being granted, is lost where it dies or its connection
 * breaks, so that a bucket never has more than it should: a call or two each time, some fifteen times a minute.
 */
const mostLost = 20;
/** How long after an outage a node may take to tell what it used, in milliseconds. */
const toldMs = 2500;
/** A shorter stretch shows nothing, in milliseconds. */
const leastQuietMs = 2000;
const perMs = slowPerMinute / 60_000;

interface Stretch {
  readonly from: number;
  readonly to: number;
}

export function rateLines(run: Run): readonly Line[] {
  const rated = run.stage.accounts.filter(({ kind }) => kind === "rated");
  const judged = rated.map((account) => wholeRun(run, account));
  const whole: Line = {
    what: "admitted at a rate: within 1 % over the run",
    figure: judged.map(({ words }) => words).join("; "),
    faults: judged.flatMap(({ faults }) => faults),
  };
  return [whole, quietLine(run, rated), awayLine(run, rated)];
}

function isAdmitted({ status, isCounted }: ClientCall): boolean {
  return status !== undefined && status !== 429 && isCounted === true;
}

function wholeRun({ load: { calls }, settled, stage }: Run, account: FleetAccount) {
  const { spans } = stage.history;
  const own = calls.filter((call) => call.account === account);
  const by = Object.groupBy(own.filter(isAdmitted), (call) => tellingOf(call, stage));
  const [told, untold] = [by.told?.length ?? 0, by.untold?.length ?? 0];
  const unsure =
    (by.perhaps?.length ?? 0) + own.filter(({ status, isUnheard }) => status === undefined && !isUnheard).length;
  const { left, at } = settled.left.get(account.id) as Left;
  const begin = Math.min(...own.map(({ sentAt }) => sentAt));
  const due = slowPerMinute + (at - begin) * perMs - left;
  const off = told > due ? told - due : Math.min(0, told + unsure - due);
  const words = `${told} of ${Math.round(due)} (${((100 * (told - due)) / due).toFixed(2)} %), ${unsure} unsure, ${untold} untold`;
  // While no node was there nobody could ask for what the rate allows.
  const goneMs = noneThere(spans, begin, at);
  const isOff = off > due * tolerance || -off > Math.max(mostLost, due * tolerance) + goneMs * perMs;
  const faults = isOff || Number.isNaN(left) ? [`${account.id}: ${words}, ${left} left`] : [];
  return { words: goneMs > 0 ? `${words}, for ${(goneMs / 1000).toFixed(1)} s no node was there` : words, faults };
}

/** For how many milliseconds no node was there. */
function noneThere(spans: readonly Span[], from: number, to: number): number {
  const stepMs = 100;
  let sum = 0;
  for (let at = from; at < to; at += stepMs) {
    const gone = spansWithin(spans, [at, at], { troubles: ["down", "paused"] });
    if (new Set(gone.map(({ node }) => node)).size >= nodeCount) sum += stepMs;
  }
  return sum;
}

/** How late a deed takes hold, in milliseconds: a call that was sent so much earlier may still meet it. */
const edgeMs = 200;

/**
 * Says whether Redis was told of a call that a node let through: not where that process died while Redis was away from it, perhaps where
 * it died just after.
 */
export function tellingOf({ node, start, sentAt }: ClientCall, stage: Run["stage"]): "told" | "untold" | "perhaps" {
  const { spans } = stage.history;
  const begunAt = stage.nodes[node]?.starts[start - 1] ?? Number.NEGATIVE_INFINITY;
  const outages = spansWithin(spans, [sentAt - toldMs, sentAt + edgeMs], { troubles: ["redis"], node });
  const tellings = outages
    .filter(({ to }) => begunAt < to)
    .map(({ from, to }) => {
      const deaths = spansWithin(spans, [sentAt, to + toldMs], { troubles: ["down"], node });
      const diedAt = Math.min(...deaths.map((down) => down.from).filter((at) => at > sentAt - edgeMs));
      if (diedAt > to + toldMs) return "told";
      return diedAt < to && sentAt > from + edgeMs ? "untold" : "perhaps";
    });
  if (tellings.includes("untold")) return "untold";
  return tellings.includes("perhaps") ? "perhaps" : "told";
}

/** The longest stretch in which nothing happened to anybody, once the first minute's requests were used. */
function quietLine({ load: { calls }, stage: { history }, span }: Run, rated: readonly FleetAccount[]): Line {
  const usedUp = Math.max(...rated.map((account) => firstRefusal(calls, account)));
  const quiet = longestQuiet(history.spans, Math.max(span[0], usedUp) + 1000, span[1] - 1000);
  const what = "admitted at a rate: in the longest quiet stretch";
  if (!(quiet.to - quiet.from >= leastQuietMs))
    return {
      what,
      figure: "none",
      faults: [`no ${leastQuietMs / 1000} s without trouble once all had used their minute up`],
    };
  const figures = rated.map((account) => countIn(calls, account, quiet));
  const due = (quiet.to - quiet.from) * perMs;
  // A slice of 50 ms for each node, and what is let through at the edges.
  const edge = 2 + nodeCount * 50 * perMs;
  const isLate = isStalled(history.spans, [quiet.from, quiet.to]);
  const faults = figures
    .filter(() => !isLate)
    .filter((count) => Math.abs(count - due) > due * tolerance + edge)
    .map(
      (count) =>
        `${count} of ${due.toFixed(1)}, from ${Math.round(quiet.from - span[0])} to ${Math.round(quiet.to - span[0])} ms`,
    );
  const seconds = ((quiet.to - quiet.from) / 1000).toFixed(1);
  return {
    what,
    figure: `${figures.join(" and ")} of ${due.toFixed(1)} in ${seconds} s`,
    faults,
  };
}

function firstRefusal(calls: readonly ClientCall[], account: FleetAccount): number {
  return Math.min(
    ...calls.filter((call) => call.account === account && call.status === 429).map(({ endedAt }) => endedAt),
  );
}

function countIn(calls: readonly ClientCall[], account: FleetAccount, { from, to }: Stretch): number {
  return calls.filter((call) => call.account === account && isAdmitted(call) && call.sentAt >= from && call.sentAt < to)
    .length;
}

function longestQuiet(spans: readonly Span[], begin: number, end: number): Stretch {
  const ordered = spans.filter(({ trouble }) => trouble !== "stall").sort((one, other) => one.from - other.from);
  let longest: Stretch = { from: begin, to: begin };
  let from = begin;
  for (const span of [...ordered, { from: end, to: end }]) {
    const to = Math.min(span.from, end);
    if (to - from > longest.to - longest.from) longest = { from, to };
    // After each the nodes find together again.
    from = Math.max(from, Math.min(span.to, end) + 1500);
  }
  return longest;
}

/**
 * While Redis is away from all: no more than what was left and the shares of the nodes, with those of a minute of the nodes that began
 * meanwhile.
 */
function awayLine({ load: { calls }, stage: { history, nodes }, plan }: Run, rated: readonly FleetAccount[]): Line {
  const outages = history.spans.filter(
    ({ trouble, node, from, to }) => trouble === "redis" && node === 0 && to - from >= plan.awayMs * 0.9,
  );
  const faults: string[] = [];
  const words = outages.map(({ from, to }) => {
    const begun = nodes.flatMap(({ starts }) => starts.filter((at) => at >= from - 100 && at < to)).length;
    const live = nodes
      .map(({ number }) => livedWithin(history.spans, number, from, to))
      .reduce((sum, ms) => sum + ms, 0);
    const before = rated.map((account) => leftBefore(calls, account, from));
    const most = Math.max(...before) + (live / nodeCount) * perMs + (begun * slowPerMinute) / nodeCount;
    // A node that died a moment ago still counts, so that rates are divided by one more.
    const least = (live / (nodeCount + 2)) * perMs;
    const counts = rated.map((account) => countIn(calls, account, { from: from + 100, to }));
    for (const count of counts)
      if (count > most * (1 + tolerance) + 20 || count < least * 0.9 - 10)
        faults.push(`${count} admitted; between ${least.toFixed(0)} and ${most.toFixed(0)} are due`);
    return `${counts.join(" and ")} of ${least.toFixed(0)} to ${most.toFixed(0)} in ${((to - from) / 1000).toFixed(0)} s, ${begun} nodes begun`;
  });
  return {
    what: "admitted at a rate: by shares while Redis is away",
    figure: words.join("; "),
    faults: words.length > 0 ? faults : ["there was no outage"],
  };
}

/** Returns what an account was told to have left before a moment. */
function leftBefore(calls: readonly ClientCall[], account: FleetAccount, at: number): number {
  const before = calls.filter((call) => call.account === account && call.endedAt < at && (call.remaining ?? -1) >= 0);
  return (
    before.reduce((last, call) => (call.endedAt > last.endedAt ? call : last), before[0] as ClientCall).remaining ?? 0
  );
}

function livedWithin(spans: readonly Span[], node: number, from: number, to: number): number {
  const gone = spansWithin(spans, [from, to], { troubles: ["down", "paused"], node });
  return to - from - gone.reduce((sum, span) => sum + Math.min(to, span.to) - Math.max(from, span.from), 0);
}
