/** Judges a run: a line of the report for each thing that must hold. */
import { isStalled, spansWithin } from "../history.ts";
import type { Load } from "../load.ts";
import type { Plan } from "../plan.ts";
import type { Line } from "../report.ts";
import type { Revocation } from "../revocations.ts";
import type { Settled } from "../settle.ts";
import type { Stage } from "../stage.ts";
import { answerLines, readinessLines } from "./answers.ts";
import { chargeLines } from "./charges.ts";
import { creditLine } from "./credit.ts";
import { moneyLines } from "./money.ts";
import { rateLines } from "./rates.ts";

export interface Run {
  readonly stage: Pick<Stage, "accounts" | "history" | "nodes" | "upstream">;
  readonly load: Pick<Load, "calls" | "balancer" | "recharges">;
  readonly plan: Plan;
  readonly settled: Settled;
  /** When the load began and ended. */
  readonly span: readonly [from: number, to: number];
  readonly revocations: readonly Revocation[];
}

/** How soon a revocation must hold everywhere, in milliseconds. */
const revokedMs = 1000;

export function judge(run: Run): readonly Line[] {
  return [
    ...chargeLines(run),
    ...moneyLines(run),
    creditLine(run),
    ...rateLines(run),
    ...revocationLines(run),
    ...answerLines(run),
    ...readinessLines(run),
    stallLine(run),
  ];
}

/** Of how much of a run the machine may not keep up: of more it would show little. */
const mostStalled = 0.25;

function stallLine({ stage: { history, nodes }, span: [from, to] }: Run): Line {
  const seconds = nodes.map(({ number }) => {
    const spans = spansWithin(history.spans, [from, to], { troubles: ["stall"], node: number });
    let [sum, until] = [0, from];
    for (const span of spans.sort((one, other) => one.from - other.from)) {
      sum += Math.max(0, Math.min(to, span.to) - Math.max(until, span.from));
      until = Math.max(until, span.to);
    }
    return sum / 1000;
  });
  const isTooMuch = Math.max(...seconds) > (mostStalled * (to - from)) / 1000;
  const figure = `${seconds.map((one) => one.toFixed(1)).join(", ")} s of ${Math.round((to - from) / 1000)} s in which a node was not judged by time`;
  return { what: "the machine kept up", figure, faults: isTooMuch ? ["this machine is too busy for it"] : [] };
}

function revocationLines({ revocations, stage: { history } }: Run): readonly Line[] {
  const of = (what: string, some: readonly Revocation[]): Line => {
    const latest = Math.max(0, ...some.map(({ latestMs }) => latestMs));
    const faults = some
      .filter(({ latestMs, toldAt }) => latestMs > revokedMs && !isStalled(history.spans, [toldAt, toldAt + latestMs]))
      .map(({ latestMs, notices }) => `taken ${Math.round(latestMs)} ms after it was revoked (notices: ${notices})`);
    const refused = some.reduce((sum, one) => sum + one.refused, 0);
    const none = some.length === 0 || refused === 0 ? ["there was none"] : [];
    const figure = `${some.length} keys; taken at most ${Math.round(latest)} ms after, refused ${refused} times`;
    return { what, figure, faults: [...faults, ...none] };
  };
  return [
    of(
      "a revoked key is refused everywhere within 1 s",
      revocations.filter(({ notices }) => notices === "pass"),
    ),
    of(
      "the same while notifications are cut",
      revocations.filter(({ notices }) => notices !== "pass"),
    ),
  ];
}
