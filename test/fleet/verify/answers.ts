/**
 * What clients may be told, and when: 503 only while Postgres is away from the node that says it, with Retry-After; 402 and 429 only of
 * accounts that run dry or are limited; no answer at all only from a node that is killed or stands still. Nodes are not ready while
 * Postgres is away, and ready else.
 */
import type { Probe } from "../balance.ts";
import type { ClientCall } from "../call.ts";
import { isStalled, type Span, spansWithin } from "../history.ts";
import type { Line } from "../report.ts";
import { callWords } from "./charges.ts";
import type { Run } from "./judge.ts";

/** Calls wait so long for Postgres before they are refused, and a node takes so long to find it again; in milliseconds. */
const [awayMs, backMs] = [900, 2000];
/** Within so many milliseconds a node says that it is not ready, and that it is again. */
const [unreadyMs, readyMs] = [2000, 2000];

export function answerLines({ load: { calls }, stage: { history } }: Run): readonly Line[] {
  const { spans } = history;
  const unavailable = calls.filter(({ status }) => status === 503);
  const faults503 = unavailable.flatMap((call) => faults503Of(call, spans));
  const odd = calls.flatMap((call) => oddFaults(call, spans));
  const silent = calls.filter(({ status, end }) => end === "broken" && (status === undefined || status === 200)).length;
  const unheard = calls.filter(({ isUnheard }) => isUnheard).length;
  return [
    {
      what: "503 only while Postgres is away, with Retry-After",
      figure: `${unavailable.length} of ${calls.length} calls`,
      faults: faults503,
    },
    {
      what: "every other call is answered as it should be",
      figure: `${calls.length - unavailable.length} calls; ${unheard} came to no node, ${silent - unheard} were cut by one that died or stood still`,
      faults: odd,
    },
  ];
}

function faults503Of(call: ClientCall, spans: readonly Span[]): readonly string[] {
  const faults: string[] = [];
  if (!/^\d+$/.test(call.retryAfter ?? "")) faults.push(`${callWords(call)}: no Retry-After`);
  const { node } = call;
  const within = [call.sentAt - backMs, call.endedAt - awayMs] as const;
  const stated = spansWithin(spans, within, { troubles: ["postgres"], node, leastMs: awayMs });
  if (stated.length === 0 && !isStalled(spans, [call.sentAt, call.endedAt], node))
    faults.push(`${callWords(call)} ${nearest(call, spans)}: ${call.text}`);
  return faults;
}

/** Names what happened to the node last, for whoever looks for the cause. */
function nearest({ node, sentAt, endedAt }: ClientCall, spans: readonly Span[]): string {
  const before = spans.filter((span) => span.node === node && span.trouble !== "stall" && span.from < endedAt).at(-1);
  if (!before) return "(nothing had happened)";
  const ms = (at: number) => Math.round(at - before.from);
  return `(sent ${ms(sentAt)} ms, told ${ms(endedAt)} ms after ${before.trouble} of ${Math.round(before.to - before.from)} ms began)`;
}

const maySay: Readonly<Record<number, readonly string[]>> = { 402: ["scarce", "draining", "limited"], 429: ["rated"] };

function oddFaults(call: ClientCall, spans: readonly Span[]): readonly string[] {
  const { status, end, node, sentAt, endedAt, account } = call;
  if (status === 503 || end === "left" || (status === 200 && end === "whole")) return [];
  if (status !== undefined && status !== 200) {
    if (maySay[status]?.includes(account.kind)) return [];
    return [`${callWords(call)} ${nearest(call, spans)}: ${call.text}`];
  }
  const gone = spansWithin(spans, [sentAt - 500, endedAt + 500], { troubles: ["down", "paused"], node });
  if (gone.length > 0) return [];
  return [
    `${callWords(call)} ${nearest(call, spans)} after ${Math.round(endedAt - sentAt)} ms: ${call.text ?? "nothing"}`,
  ];
}

export function readinessLines({ load: { balancer }, stage: { history, nodes } }: Run): readonly Line[] {
  const { spans } = history;
  const isBeside = ({ node, at }: Probe) => {
    const begun = Math.max(...(nodes[node]?.starts ?? []).filter((start) => start <= at), Number.NEGATIVE_INFINITY);
    return (
      spansWithin(spans, [at - readyMs, at + 2000], { troubles: ["down", "paused"], node }).length > 0 ||
      at - begun < readyMs
    );
  };
  const probes = balancer.probes.filter((probe) => !isBeside(probe));
  const away: string[] = [];
  const there: string[] = [];
  let [unready, ready] = [0, 0];
  for (const { node, at, status } of probes) {
    const all = spansWithin(spans, [at - unreadyMs - readyMs, at + 700], { troubles: ["postgres"], node });
    const isLate = isStalled(spans, [at - readyMs, at + 700], node);
    const isAway = all.some((span) => at - span.from > unreadyMs && at < span.to - 700);
    if (isAway) {
      unready++;
      if (status !== 503)
        away.push(`node ${node}: ${status} while Postgres had been away for more than ${unreadyMs} ms`);
    } else if (all.length === 0) {
      ready++;
      const last = spans.filter((span) => span.node === node && span.from < at).at(-1);
      const words = last
        ? `${Math.round(at - last.from)} ms after ${last.trouble} of ${Math.round(last.to - last.from)} ms`
        : "";
      if (status !== 200 && !isLate) there.push(`node ${node}: ${status} while nothing was away ${words}`);
    }
  }
  return [
    {
      what: "not ready while Postgres is away",
      figure: `${unready} looks`,
      faults: unready === 0 ? ["there was none"] : away,
    },
    { what: "ready again by itself, and else always", figure: `${ready} looks`, faults: there },
  ];
}
