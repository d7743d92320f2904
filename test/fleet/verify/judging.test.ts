/** What the test of a fleet would find: each thing that must not happen, told to those who judge. */
import { expect, test } from "vitest";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { FleetAccount, Kind } from "../accounts.ts";
import type { ClientCall } from "../call.ts";
import { createHistory } from "../history.ts";
import { makePlan } from "../plan.ts";
import type { CallRow, Settled } from "../settle.ts";
import { costOf } from "../upstream.ts";
import { answerLines, readinessLines } from "./answers.ts";
import { chargeLines } from "./charges.ts";
import { creditLine } from "./credit.ts";
import type { Run } from "./judge.ts";
import { tellingOf } from "./rates.ts";

const accountOf = (kind: Kind, credit = 0): FleetAccount => {
  const key = { id: "key_1", secret: "", limit: undefined, madeAt: 0 };
  const credits = [{ amount: credit, at: Number.NEGATIVE_INFINITY }];
  return { kind, id: `acc_${kind}`, adminKey: "", key, credits, dryAt: undefined };
};
const ample = accountOf("ample");

function callOf(number: number, more: Partial<ClientCall> = {}): ClientCall {
  const { account = ample } = more;
  const times = { sentAt: 10_000, endedAt: 10_100 };
  return {
    ...{ number, form: "chat", account, key: account.key, node: 0, start: 1, ...times, end: "whole" },
    ...{ status: 200, id: `req_${number}` },
    ...more,
  } as ClientCall;
}

function rowOf(number: number, more: Partial<CallRow> = {}): CallRow {
  const cost = costOf(number, "chat");
  const used = { input: 1000 + number, output: 4, cost, waived: 0 };
  return {
    ...{ id: `req_${number}`, account_id: ample.id, key_id: "key_1", operation: "chat", outcome: Outcome.ANSWERED },
    ...used,
    ...more,
  };
}

function runOf(calls: readonly ClientCall[], rows: readonly CallRow[] = [], history = createHistory()): Run {
  const accounts = [...new Set(calls.map(({ account }) => account))];
  const upstream = { answered: new Set(calls.map(({ number }) => number)) };
  const nodes = [0, 1, 2].map((number) => ({ number, starts: [0] }));
  return {
    stage: { accounts, history, nodes, upstream },
    load: { calls, balancer: { probes: [] }, recharges: { told: 0, repeated: 0 } },
    settled: { rows } as unknown as Settled,
  } as unknown as Run;
}

const faultsOf = (lines: readonly { faults: readonly string[] }[]) => lines.flatMap(({ faults }) => faults);

test("an answer without a charge, with two, with another cost than told, and a charge of nobody's", () => {
  expect(faultsOf(chargeLines(runOf([callOf(1)], [rowOf(1)])))).toEqual([]);
  expect(faultsOf(chargeLines(runOf([callOf(1)])))).toEqual([expect.stringMatching(/call 1 .*0 rows/)]);
  const twice = [rowOf(1), rowOf(1)];
  expect(faultsOf(chargeLines(runOf([callOf(1)], twice)))).toEqual([expect.stringMatching(/2 rows/)]);
  const wrong = [rowOf(1, { cost: 1 })];
  expect(faultsOf(chargeLines(runOf([callOf(1)], wrong)))).toEqual([expect.stringMatching(/charged 1 of 5001/)]);
  expect(faultsOf(chargeLines(runOf([callOf(1, { cost: 7 })], [rowOf(1)])))).toEqual([
    expect.stringMatching(/told 7 of 5001/),
  ]);
  expect(faultsOf(chargeLines(runOf([callOf(1)], [rowOf(1), rowOf(2)])))).toEqual([expect.stringMatching(/nobody's/)]);
});

test("a refused call that is charged, and a lost one that is; what died with its node costs nothing", () => {
  const refused = callOf(1, { status: 503, end: "broken" });
  expect(faultsOf(chargeLines(runOf([refused], [rowOf(1)])))).toEqual([expect.stringMatching(/503, broken/)]);
  const lost = rowOf(1, { outcome: Outcome.LOST, cost: 0 });
  expect(faultsOf(chargeLines(runOf([refused], [lost])))).toEqual([]);
  const { id: _, status: __, ...cut } = callOf(1, { end: "broken" });
  // Charged in full, once, since the upstream answered: it was caught on its way to the client.
  expect(faultsOf(chargeLines(runOf([cut], [rowOf(1, { id: "req_x" })])))).toEqual([]);
  const again = [rowOf(1, { id: "req_x" }), rowOf(1, { id: "req_y" })];
  expect(faultsOf(chargeLines(runOf([cut], again)))).toEqual([expect.stringMatching(/2 rows/)]);
});

test("a refusal for want of credit that was there", () => {
  const broken = { status: 402, end: "broken" } as const;
  expect(creditLine(runOf([callOf(1, broken)])).faults).toEqual([expect.stringMatching(/always has credit/)]);
  const of = (credit: number) => {
    const account = accountOf("scarce", credit);
    // Four thousand are spent, and another call may hold up to 130,000 at that moment.
    const spent = callOf(1, { account, sentAt: 0, endedAt: 100 });
    const other = callOf(2, { account, sentAt: 10_050, endedAt: 10_500 });
    return creditLine(runOf([spent, other, callOf(3, { account, ...broken })])).faults;
  };
  expect(of(200_000)).toEqual([]);
  expect(of(400_000)).toEqual([expect.stringMatching(/call 3 .*were left at least/)]);
});

test("a 503 that nothing explains, and one without Retry-After", () => {
  const call = callOf(1, { status: 503, end: "broken", retryAfter: "1" });
  const away = (from: number, to: number) => {
    const history = createHistory();
    history.add({ trouble: "postgres", node: 0, from, to });
    return faultsOf(answerLines(runOf([call], [], history)));
  };
  expect(away(8000, 12_000)).toEqual([]);
  expect(away(10_050, 10_060)).toEqual([expect.stringMatching(/call 1 .*10 ms began/)]);
  expect(away(9900, 12_000)).toEqual([expect.stringMatching(/call 1/)]);
  expect(faultsOf(answerLines(runOf([call])))).toEqual([expect.stringMatching(/nothing had happened/)]);
  const { retryAfter: _, ...bare } = call;
  const history = createHistory();
  history.add({ trouble: "postgres", node: 0, from: 8000, to: 12_000 });
  expect(faultsOf(answerLines(runOf([bare], [], history)))).toEqual([expect.stringMatching(/no Retry-After/)]);
});

test("a node that says it is ready while Postgres is away, and one that is not while it is there", () => {
  const history = createHistory();
  history.add({ trouble: "postgres", node: 0, from: 10_000, to: 20_000 });
  const of = (at: number, status: number) => {
    const run = runOf([callOf(1)], [], history);
    const probes = [
      { node: 0, at: 15_000, status: 503 },
      { node: 0, at, status },
    ];
    return faultsOf(readinessLines({ ...run, load: { ...run.load, balancer: { probes } } } as unknown as Run));
  };
  expect(of(16_000, 503)).toEqual([]);
  expect(of(16_000, 200)).toEqual([expect.stringMatching(/node 0: 200/)]);
  expect(of(30_000, 200)).toEqual([]);
  expect(of(30_000, 503)).toEqual([expect.stringMatching(/node 0: 503/)]);
});

test("Redis is not told of a call whose process dies while it is away, and perhaps not where it dies just after", () => {
  const of = (sentAt: number, diedAt: number, begunAt = 0) => {
    const history = createHistory();
    history.add({ trouble: "redis", node: 0, from: 10_000, to: 20_000 });
    history.add({ trouble: "down", node: 0, from: diedAt, to: diedAt + 1500 });
    const { stage } = runOf([], [], history);
    return tellingOf(callOf(1, { sentAt }), { ...stage, nodes: [{ ...stage.nodes[0], starts: [begunAt] }] } as never);
  };
  expect(of(12_000, 15_000)).toBe("untold");
  expect(of(12_000, 21_000)).toBe("perhaps");
  expect(of(12_000, 25_000)).toBe("told");
  // It may have been decided before Redis was away.
  expect(of(9_900, 15_000)).toBe("perhaps");
  expect(of(9_000, 15_000)).toBe("told");
  expect(of(20_500, 21_000)).toBe("perhaps");
  // That process began when Redis was back.
  expect(of(20_500, 21_000, 20_100)).toBe("told");
});

test("a seed has the same troubles each time, and another one others", () => {
  expect(makePlan(60, 1)).toEqual(makePlan(60, 1));
  expect(makePlan(60, 1)).not.toEqual(makePlan(60, 2));
  const { planned, pauseMs, awayMs } = makePlan(300, 1);
  expect([pauseMs, awayMs]).toEqual([100_000, 20_000]);
  const kills = planned.filter(({ deed }) => deed.kind === "kill");
  expect(kills.length).toBeGreaterThan(25);
  const kinds = new Set(planned.map(({ deed }) => deed.kind));
  expect([...kinds].sort()).toEqual(["away", "cut", "kill", "notices", "pause"]);
});
