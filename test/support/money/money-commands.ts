/**
 * The steps of money that the property test interleaves at random: each does the same to the model and to the real
 * thing, in one of two processes, and finds the same came of it.
 */
import { strictEqual } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import fc, { type AsyncCommand } from "fast-check";
import { type Captured, holdMs } from "../../../src/ledger/contract.ts";
import type { Held } from "../../../src/storage/money/contract.ts";
import {
  heldOf,
  leftOfBalance,
  leftOfLimit,
  type ModelCall,
  type ModelHold,
  type MoneyModel,
  modelEntry,
  modelHold,
  modelSettle,
  modelSweep,
} from "./money-model.ts";
import { endedCall, holdRequest, type MoneyProcess, type RealMoney } from "./real-money.ts";

export type MoneyCommand = AsyncCommand<MoneyModel, RealMoney>;

/** One step of a turn. Which call is settled is told by a number, since none is known while steps are made up. */
type Step =
  | { readonly kind: "hold"; readonly process: 0 | 1; readonly max: number; readonly min: number }
  | { readonly kind: "settle"; readonly which: number; readonly percent: number };

const process = fc.constantFrom(0 as const, 1 as const);
const small = fc.integer({ min: 1, max: 100 });
const amount = fc.oneof(
  { weight: 30, arbitrary: fc.integer({ min: 1, max: 400 }) },
  fc.constant(8_999_999_999_999_999),
);

const step: fc.Arbitrary<Step> = fc.oneof(
  fc
    .record({ kind: fc.constant("hold" as const), process, max: small, share: fc.integer({ min: 0, max: 100 }) })
    .map(({ share, ...hold }) => ({ ...hold, min: Math.max(1, Math.floor((hold.max * share) / 100)) })),
  fc.record({
    kind: fc.constant("settle" as const),
    which: fc.nat(),
    percent: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.constant(100)),
  }),
);

/** The calls of one turn, in both processes: holds and settlements that come at once, in an order that the ledger chooses. */
const turn = fc.array(step, { minLength: 1, maxLength: 6 }).map((steps) =>
  command(`turn ${JSON.stringify(steps)}`, async (model, real) => {
    const known = [...model.calls];
    const made = await Promise.all(steps.map((step) => run(step, known, model.now, real)));
    const explained = explain(made.flat(), model);
    if (!explained) throw new Error(`in no order does ${JSON.stringify(made.flat())} come of ${JSON.stringify(model)}`);
    Object.assign(model, explained);
  }),
);

/** A step that was taken, and what came of it. */
type Made =
  | { readonly init: Omit<ModelHold, "holdMs">; readonly held: Held }
  | { readonly id: string; readonly cost: number; readonly charged: Captured | undefined };

/** A call that a step of the turn settles was held before it, and is settled by the process that made it. */
async function run(step: Step, known: readonly ModelCall[], now: number, real: RealMoney): Promise<Made[]> {
  const ledgerOf = (process: number) => (real.processes[process] as MoneyProcess).ledger;
  if (step.kind === "hold") {
    const id = real.newRequestId();
    const held = await ledgerOf(step.process).hold(holdRequest(id, step, now));
    return [{ init: { ...step, id }, held }];
  }
  const call = known[step.which % Math.max(1, known.length)];
  if (!call) return [];
  const cost = Math.floor((call.amount * step.percent) / 100);
  return [{ id: call.id, cost, charged: await ledgerOf(call.process).capture(endedCall(call.id, cost, now)) }];
}

/** Returns the model after the steps, in the first order in which the same comes of them there; undefined if in none. */
function explain(made: readonly Made[], model: MoneyModel): MoneyModel | undefined {
  if (made.length === 0) return model;
  for (const [i, one] of made.entries()) {
    const next = { ...model, calls: model.calls.map((call) => ({ ...call })), steady: model.steady?.slice() };
    const explained = isSame(one, next) ? explain(made.toSpliced(i, 1), next) : undefined;
    if (explained) return explained;
  }
  return undefined;
}

/** Takes the step in the model, and returns whether the same comes of it. */
function isSame(one: Made, model: MoneyModel): boolean {
  if ("init" in one) return isDeepStrictEqual(modelHold(model, { ...one.init, holdMs }), one.held);
  const call = model.calls.find(({ id }) => id === one.id) as ModelCall;
  // Of a call that was settled before, and costs nothing, it is all the same.
  const nothing = { cost: 0, waived: 0 };
  return isDeepStrictEqual(modelSettle(model, call, one.cost) ?? nothing, one.charged ?? nothing);
}

const entry = fc.tuple(fc.constantFrom(1 as const, 2 as const, 3 as const), amount, process).map(([kind, sum, at]) =>
  command(`${["", "recharge", "refund", "grant"][kind]} ${sum} at ${at}`, async (model, real) => {
    const recorded = await real.record(at, kind, sum);
    strictEqual(recorded.kind === "recorded", modelEntry(model, kind, sum));
  }),
);

const sellCode = amount.map((sum) =>
  command(`code ${sum}`, async (model, real) => {
    model.codes.push({ amount: sum, hash: await real.newCode(sum), claimed: false });
  }),
);

/** Both processes claim the same code. */
const redeem = fc.nat().map((which) =>
  command(`redeem ${which}`, async (model, real) => {
    const code = model.codes[which % Math.max(1, model.codes.length)];
    if (!code) return;
    for (const at of [0, 1] as const) {
      const may: boolean = !code.claimed && modelEntry(model, 1, code.amount);
      strictEqual((await real.redeem(at, code.hash)).kind === "recorded", may);
      code.claimed ||= may;
    }
  }),
);

const pass = fc.integer({ min: 1, max: 2 * holdMs }).map((ms) =>
  command(`pass ${ms}`, async (model, real) => {
    model.now += ms;
    await real.setNow(model.now);
  }),
);

const sweep = process.map((at) =>
  command(`sweep at ${at}`, async (model, real) => {
    modelSweep(model, at, holdMs);
    await (real.processes[at] as MoneyProcess).ledger.sweep();
  }),
);

const limit = fc.tuple(fc.option(fc.integer({ min: 0, max: 500 })), process).map(([most, at]) =>
  command(`limit ${most} at ${at}`, async (model, real) => {
    const may = most === null || most >= model.spent + heldOf(model);
    strictEqual(await real.setLimit(at, most), may ? "updated" : "below");
    if (may) model.limit = most;
  }),
);

const postpaid = fc.boolean().map((to) =>
  command(`postpaid ${to}`, async (model, real) => {
    model.postpaid = to;
    await real.setPostpaid(to);
  }),
);

/** Many turns, and now and then what happens between them. */
export const moneyCommands = fc.commands(
  [turn, turn, turn, entry, entry, sellCode, redeem, pass, sweep, limit, postpaid],
  { maxCommands: 60, size: "+1" },
);

function command(text: string, work: (model: MoneyModel, real: RealMoney) => Promise<void>): MoneyCommand {
  return {
    check: () => true,
    async run(model, real) {
      const before = { balance: leftOfBalance(model), limit: leftOfLimit(model), wasPostpaid: model.postpaid };
      await work(model, real);
      await real.compare(model);
      // Only who was billed afterwards before may owe anything, and never more than then.
      const owed = before.wasPostpaid ? Number.POSITIVE_INFINITY : Math.max(0, -before.balance);
      strictEqual(leftOfBalance(model) >= -owed, true, "the balance was overdrawn");
      strictEqual(leftOfLimit(model) >= 0, true, "the key spent beyond its limit");
    },
    toString: () => text,
  };
}
