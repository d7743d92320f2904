/**
 * Random calls, jumps of the clock and changes of budgets, in two processes on one database, beside a model of a few lines: every hold comes
 * out as the model says, and no window ever has more than its budget.
 */
import { deepStrictEqual, ok } from "node:assert";
import fc, { type AsyncCommand } from "fast-check";
import type { Accelerators } from "../../../src/composition/accelerators.ts";
import type { LedgerOptions } from "../../../src/ledger/contract.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { holdMs } from "../../../src/storage/money/books.ts";
import { quarterMs, rollingMs, windowOf } from "../../../src/storage/money/budget-windows.ts";
import { type Budget, type BudgetTerms, readBudgets, storedBudgets } from "../../../src/storage/money/budgets.ts";
import { reconciled } from "../../../src/storage/proof/proof.ts";
import { proveAndRepair } from "../../../src/storage/proof/repair.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { openStorageOfOwner, openStorageOfWorker } from "../../../src/storage/storage-of-owner.ts";
import { accelerators } from "../accelerators.ts";
import { eventually } from "../eventually.ts";
import { newTestDatabase, type TestDatabase } from "../storage/test-database.ts";
import { createLinked } from "../workers/channels.ts";
import { endedCall } from "./ledger.ts";
import { createLedger, type LedgerByIds } from "./ledger-by-ids.ts";
import { openToProve } from "./proof.ts";

const account = "acc_1";
const keys = ["key_1", "key_2"] as const;
type Subject = typeof account | (typeof keys)[number];

interface ModelCall {
  readonly id: string;
  readonly keyId: string;
  readonly process: number;
  readonly createdAt: number;
  /** changes is how many changes of budgets and zones there had been. */
  readonly changes: number;
  /** amount is what it holds, or has cost. */
  amount: number;
  isRunning: boolean;
}

export interface BudgetModel {
  now: number;
  zone: string | null;
  readonly budgets: Map<Subject, string | null>;
  readonly changedAt: Map<Subject, number>;
  changes: number;
  readonly calls: ModelCall[];
}

export function newBudgetModel(now: number): BudgetModel {
  return { now, zone: null, budgets: new Map(), changedAt: new Map(), changes: 0, calls: [] };
}

export interface RealBudgets {
  readonly processes: readonly { readonly ledger: LedgerByIds; readonly storage: Storage }[];
  setNow(now: number): Promise<void>;
  newId(): string;
  /** Has all that processes know written: a call that took its hold from a lease counts for a budget from then on. */
  settle(): Promise<void>;
  /** Reports whether a call has a hold in the database. */
  isHeld(id: string): Promise<boolean>;
  /** Rejects unless the proof of the sums is clean. */
  prove(now: number): Promise<void>;
  close(): Promise<void>;
}

/** OpenedProcesses are two processes on one database. */
export interface OpenedProcesses extends Pick<RealBudgets, "processes"> {
  readonly database: TestDatabase;
  /** Ends both, and removes the database. */
  close(): Promise<void>;
}

export type OpenProcesses = (options: Pick<LedgerOptions, "clock" | "onError">) => Promise<OpenedProcesses>;

/** Two processes that open the database themselves, as the tests' environment says. */
export const openHere: OpenProcesses = async (options) => openNodes(await newTestDatabase(), options);

/** The same on a database, with a ledger of one kind. */
export async function openNodes(
  database: TestDatabase,
  options: Pick<LedgerOptions, "clock" | "onError">,
  { hasJournal, createLedger: create }: Pick<Accelerators, "hasJournal" | "createLedger"> = accelerators,
): Promise<OpenedProcesses> {
  const open = async () => {
    const storage = await database.open();
    return { storage, ledger: createLedger({ openBooks: storage.openBooks(hasJournal), ...options }, create) };
  };
  const processes = [await open(), await open()];
  return {
    ...{ database, processes },
    async close() {
      for (const { ledger, storage } of processes) {
        await ledger.close();
        await storage.close();
      }
      await database.remove();
    },
  };
}

/** Two workers of one machine, which ask the owner of its file for all that is money. */
export async function openWorkers(
  options: Pick<LedgerOptions, "clock" | "onError">,
  { hasJournal, createLedger: create }: Pick<Accelerators, "hasJournal" | "createLedger">,
): Promise<OpenedProcesses> {
  const database = await newTestDatabase();
  const owner = await openStorageOfOwner(database.path, "process", {
    ...{ node: newId("nod", options.clock()), isSuccessor: false },
    ...options,
  });
  const open = async () => {
    const ends = createLinked();
    await ends.connect(owner.books.serve);
    const storage = await openStorageOfWorker(database.path, "process", ends.link);
    return { ends, storage, ledger: createLedger({ openBooks: storage.openBooks(hasJournal), ...options }, create) };
  };
  const processes = [await open(), await open()];
  return {
    ...{ database, processes },
    async close() {
      for (const { ends, ledger, storage } of processes) {
        await ledger.close();
        await ends.link.leave();
        await storage.close();
      }
      await owner.books.close();
      await owner.storage.close();
      await database.remove();
    },
  };
}

export async function openBudgets(now: number, open = openHere): Promise<RealBudgets> {
  let time = now;
  const onError = (error: unknown) => {
    throw error;
  };
  const { database, processes, close } = await open({ clock: () => time, onError });
  const [first] = processes as [RealBudgets["processes"][number]];
  const { accounts, entries, keys: store } = first.storage;
  await accounts.insert({ id: account, name: "one", created_at: 1 });
  await entries.record({ id: "led_1", accountId: account, kind: 1, amount: 1e9, note: null, now: 1 });
  for (const id of keys)
    await store.insert({ id, account_id: account, name: id, secret_hash: id, secret_mask: "m", created_at: 1 });
  await database.setClock(now);
  const proving = await openToProve(database);
  async function settle(): Promise<void> {
    for (const { storage } of processes) await storage.holds.total();
    await first.storage.recall(account);
  }
  /** Extends all holds, as processes that live do: no call is lost. */
  async function renew(at: number): Promise<void> {
    await database.query("UPDATE holds SET expires_at = ?", at + holdMs);
  }
  return {
    processes,
    async setNow(at) {
      time = at;
      await database.setClock(at);
      await renew(at);
    },
    // Its time is where the proof looks for the call.
    newId: () => newId("req", time),
    settle,
    isHeld: async (id) => (await database.query("SELECT 1 FROM holds WHERE request_id = ?", id)).length > 0,
    async prove(at) {
      await settle();
      // A hold of a lease is written only now, with the deadline of its own time.
      await renew(at);
      deepStrictEqual((await reconciled(proveAndRepair(proving, { now: at }))).findings, []);
    },
    async close() {
      await proving.destroy();
      await close();
    },
  };
}

const subjectsOf = (keyId: string): Subject[] => [account, keyId as Subject];

function callsOf({ calls }: BudgetModel, subject: Subject): ModelCall[] {
  return calls.filter(({ keyId }) => subject === account || keyId === subject);
}

function sumIn(calls: readonly ModelCall[], from: number, to: number): number {
  return calls.reduce((sum, { createdAt, amount }) => sum + (createdAt >= from && createdAt < to ? amount : 0), 0);
}

/** Returns what the budgets of a key and the account leave now. */
function leftIn(model: BudgetModel, keyId: string): number {
  const lefts = subjectsOf(keyId).flatMap((subject) =>
    readBudgets(model.budgets.get(subject) ?? null).map(({ amount, period, rolling }) => {
      const { from, to } = windowOf(period, rolling, model.zone ?? "UTC", model.now);
      return amount - sumIn(callsOf(model, subject), from, to);
    }),
  );
  return Math.min(Number.POSITIVE_INFINITY, ...lefts);
}

/** No window that any call came into since budgets or zone were changed has more than its budget, by the exact time. */
function checkWindows(model: BudgetModel): void {
  for (const subject of [account, ...keys] as const) {
    const since = Math.max(model.changedAt.get(subject) ?? 0, model.changedAt.get(account) ?? 0);
    for (const { amount, period, rolling } of readBudgets(model.budgets.get(subject) ?? null)) {
      const window = windowOf(period, false, model.zone ?? "UTC", model.now);
      const { from, to } = rolling ? { from: model.now - rollingMs[period], to: model.now + 1 } : window;
      const calls = callsOf(model, subject).filter(({ createdAt }) => createdAt >= from && createdAt < to);
      if (calls.some(({ changes }) => changes >= since)) ok(sumIn(calls, from, to) <= amount, `${subject} ${period}`);
    }
  }
}

type BudgetCommand = AsyncCommand<BudgetModel, RealBudgets>;

const process = fc.nat({ max: 1 });
const keyId = fc.constantFrom(...keys);
/** known is what a process knows of budgets when a call comes: as they are, nothing, or something else. */
const known = fc.constantFrom("right", "nothing", "wrong");

const call = fc
  .record({ process, keyId, known, max: fc.integer({ min: 1, max: 60 }), share: fc.integer({ min: 0, max: 100 }) })
  .map(({ process, keyId, known, max, share }) =>
    command(`call of ${keyId} at ${process} for ${max} (${share} %), known: ${known}`, async (model, real) => {
      const min = Math.max(1, Math.floor((max * share) / 100));
      const left = leftIn(model, keyId);
      const amount = left >= max ? max : left >= min ? left : undefined;
      const names = { requestId: real.newId(), accountId: account, keyId, operation: "chat", model: "m" };
      const request = { ...names, isLimited: false, max, min, now: model.now, budgets: termsAs(model, keyId, known) };
      const held = await real.processes[process]?.ledger.hold(request);
      if (amount === undefined) {
        const { kind, of, available, budget } = held as Extract<typeof held, { kind: "short" }>;
        deepStrictEqual([kind, of, available, budget?.left], ["short", "budget", Math.max(0, left), left]);
        return;
      }
      deepStrictEqual([held?.kind, held && "amount" in held && held.amount], ["held", amount]);
      if (left !== Number.POSITIVE_INFINITY)
        deepStrictEqual((held as { budget?: { left: number } }).budget?.left, left - amount);
      const { now: createdAt, changes } = model;
      model.calls.push({ id: names.requestId, keyId, process, createdAt, changes, amount, isRunning: true });
    }),
  );

function termsAs(model: BudgetModel, keyId: string, known: string): BudgetTerms | undefined {
  const [ofAccount, ofKey] = subjectsOf(keyId).map((subject) => model.budgets.get(subject) ?? null);
  if (known === "nothing" || (ofAccount === null && ofKey === null)) return undefined;
  if (known === "wrong") return { zone: "Asia/Kathmandu", ofAccount: null, ofKey: ofAccount ?? null };
  return { zone: model.zone, ofAccount: ofAccount ?? null, ofKey: ofKey ?? null };
}

const end = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 120 })).map(([which, percent]) =>
  command(`end ${which} at ${percent} %`, async (model, real) => {
    const running = model.calls.filter(({ isRunning }) => isRunning);
    const one = running[which % Math.max(1, running.length)];
    if (!one) return;
    const cost = Math.floor((one.amount * percent) / 100);
    const ended = endedCall(one.id, cost, one.createdAt, { key_id: one.keyId });
    const charged = await real.processes[one.process]?.ledger.capture(ended);
    // One that took its hold from a lease, before there was a budget, is charged by what is written a moment later.
    await real.settle();
    one.isRunning = false;
    deepStrictEqual(charged?.cost, Math.min(cost, one.amount));
    one.amount = charged?.cost ?? 0;
  }),
);

/** Calls that come at once, at both processes, each for the same: as many go as fit, whichever they are. */
const burst = fc
  .record({ keyId, known, max: fc.integer({ min: 1, max: 30 }), count: fc.integer({ min: 2, max: 12 }) })
  .map(({ keyId, known, max, count }) =>
    command(`${count} calls of ${keyId} at once for ${max}, known: ${known}`, async (model, real) => {
      const left = leftIn(model, keyId);
      const asked = Array.from({ length: count }, (_, i) => ({ requestId: real.newId(), process: i % 2 }));
      const budgets = termsAs(model, keyId, known);
      const names = { accountId: account, keyId, operation: "chat", model: "m", isLimited: false, budgets };
      const held = await Promise.all(
        asked.map(({ requestId, process }) =>
          real.processes[process]?.ledger.hold({ requestId, ...names, max, min: max, now: model.now }),
        ),
      );
      const { now: createdAt, changes } = model;
      for (const [i, one] of held.entries())
        if (one?.kind === "held") {
          const { requestId: id, process } = asked[i] as (typeof asked)[number];
          deepStrictEqual(one.amount, max);
          model.calls.push({ id, keyId, process, createdAt, changes, amount: max, isRunning: true });
        }
      const fit = Math.min(count, Math.max(0, Math.floor(left / max)));
      deepStrictEqual(held.filter((one) => one?.kind === "held").length, fit);
    }),
  );

/** A call that comes to nothing, as one whose upstream failed. */
const release = fc.nat().map((which) =>
  command(`release ${which}`, async (model, real) => {
    const running = model.calls.filter(({ isRunning }) => isRunning);
    const one = running[which % Math.max(1, running.length)];
    if (!one) return;
    await real.processes[one.process]?.ledger.release(one.id);
    // That a call which took its hold from a lease holds nothing any more is written a moment later.
    await eventually(async () => {
      await real.settle();
      ok(!(await real.isHeld(one.id)));
    });
    one.isRunning = false;
    one.amount = 0;
  }),
);

const hour = 3_600_000;
const jump = fc.oneof(
  fc.integer({ min: 1, max: 2 * quarterMs }),
  fc.integer({ min: 1, max: 30 * hour }),
  fc.integer({ min: 1, max: 20 * 24 * hour }),
  // Clocks go back, too.
  fc.integer({ min: -2 * 24 * hour, max: -1 }),
);
const pass = jump.map((ms) =>
  command(`pass ${ms}`, async (model, real) => {
    model.now += ms;
    await real.setNow(model.now);
  }),
);

const budget: fc.Arbitrary<Budget> = fc.record({
  id: fc.constant("bud_1"),
  amount: fc.integer({ min: 1, max: 250 }),
  period: fc.constantFrom("day" as const, "week" as const, "month" as const),
  rolling: fc.boolean(),
});
const budgets = fc
  .tuple(fc.constantFrom(account, ...keys), fc.array(budget, { maxLength: 3 }), process)
  .map(([subject, list, at]) =>
    command(`budgets of ${subject} at ${at}: ${JSON.stringify(list)}`, async (model, real) => {
      const { accounts, keys } = (real.processes[at] as RealBudgets["processes"][number]).storage;
      const stored = storedBudgets(list);
      await real.settle();
      if (subject === account) await accounts.update(account, { budgets: stored }, model.now);
      else await keys.update(account, subject, { budgets: stored }, model.now);
      model.budgets.set(subject, stored);
      model.changedAt.set(subject, ++model.changes);
    }),
  );

/** Zones whose clocks differ by parts of an hour, and that move them in the time that the test is about. */
const zone = fc.tuple(
  fc.constantFrom(null, "Europe/Berlin", "Asia/Kathmandu", "Asia/Kolkata", "Australia/Lord_Howe", "America/Havana"),
  process,
);
const zones = zone.map(([name, at]) =>
  command(`zone ${name} at ${at}`, async (model, real) => {
    await real.processes[at]?.storage.accounts.update(account, { time_zone: name }, model.now);
    model.zone = name;
    model.changedAt.set(account, ++model.changes);
  }),
);

const prove = fc.constant(
  command("prove", async (model, real) => {
    await real.prove(model.now);
    const { storage } = real.processes[0] as RealBudgets["processes"][number];
    const asked = [
      { accountId: account, budgets: model.budgets.get(account) ?? null },
      ...keys.map((keyId) => ({ accountId: account, keyId, budgets: model.budgets.get(keyId) ?? null })),
    ];
    const statuses = await storage.budgets.statuses(asked, model.now);
    for (const { window, spent, held } of [...statuses.values()].flat()) {
      const { subject, from, to } = window;
      const calls = callsOf(model, subject as Subject);
      const [running, ended] = [calls.filter((one) => one.isRunning), calls.filter((one) => !one.isRunning)];
      deepStrictEqual([spent, held], [sumIn(ended, from, to), sumIn(running, from, to)]);
    }
  }),
);

/** Many calls, and what happens between them. Budgets come first now and then. */
export const budgetCommands = fc.commands(
  [call, call, call, burst, end, end, end, release, pass, pass, budgets, zones, prove],
  {
    maxCommands: 80,
    size: "+1",
  },
);

function command(text: string, work: (model: BudgetModel, real: RealBudgets) => Promise<void>): BudgetCommand {
  return {
    check: () => true,
    async run(model, real) {
      await work(model, real);
      checkWindows(model);
    },
    toString: () => text,
  };
}
