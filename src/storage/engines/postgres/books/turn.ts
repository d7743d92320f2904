/** Puts a turn into the form in which `decide` takes it, and reads what was decided. */
import type { DecidedHold, Decision, Decisions, Granted, Turn } from "../../../money/books.ts";
import { type BudgetLeft, type BudgetTerms, type BudgetWindow, budgetWindows, endOf } from "../../../money/budgets.ts";
import type { Capture, Captured } from "../../../money/contract.ts";

/** Asked is what a turn asks of the database, its records apart. */
export type Asked = Omit<Turn, "records">;

/** TurnValues is what `decide` takes besides its node and number. */
export type TurnValues = readonly [
  ...ids: [accounts: readonly string[], keys: readonly string[], leases: readonly string[]],
  given: readonly string[],
  captures: string,
  releases: readonly string[],
  holds: string,
];

/** createPlaces gives names their places, from 1 on as Postgres counts, in the order in which it sorts them. */
function createPlaces(names: Iterable<string>) {
  const sorted = [...new Set(names)].sort((one, other) => (one < other ? -1 : 1));
  const places = new Map(sorted.map((name, i) => [name, i + 1]));
  return { names: sorted, of: (name: string) => places.get(name) };
}

export function turnValues({ captures, releases, holds, leases: given }: Asked): TurnValues {
  const ofCalls = captures.map(({ call }) => call);
  const accounts = createPlaces([...ofCalls.map((call) => call.account_id), ...holds.map((hold) => hold.accountId)]);
  const keys = createPlaces([...ofCalls.map((call) => call.key_id), ...holds.map((hold) => hold.keyId)]);
  const leases = createPlaces(holds.flatMap(({ lease }) => (lease ? [lease.id] : [])));
  const wanted = holds.map((hold, place) => ({
    n: place + 1,
    i: hold.requestId,
    a: accounts.of(hold.accountId),
    k: keys.of(hold.keyId),
    l: hold.lease && leases.of(hold.lease.id),
    lk: hold.lease?.isOfKey ?? false,
    o: hold.operation,
    m: hold.model,
    max: hold.max,
    min: hold.min,
    t: hold.now,
    ...(hold.budgets ? { b: { ...hold.budgets, windows: windowsOfHold(hold).map(plainWindow) } } : {}),
  }));
  const calls = captures.map(({ call, most, budgets }) => ({
    ...call,
    most,
    ...(budgets ? { windows: callWindows(budgets, call) } : {}),
  }));
  const names = [accounts.names, keys.names, leases.names] as const;
  return [...names, given, JSON.stringify(calls), releases, JSON.stringify(wanted)];
}

function windowsOfHold({ budgets, accountId, keyId, now }: DecidedHold): readonly BudgetWindow[] {
  return budgets ? budgetWindows(budgets, accountId, keyId, now) : [];
}

/** callWindows returns the windows that bound the charge of a call, as the functions take them; undefined for none. */
export function callWindows(
  terms: BudgetTerms,
  { account_id, key_id, created_at }: Pick<Capture, "account_id" | "key_id" | "created_at">,
): readonly PlainWindow[] | undefined {
  const windows = budgetWindows(terms, account_id, key_id, created_at);
  return windows.length === 0 ? undefined : windows.map(plainWindow);
}

/** PlainWindow is a window as `budget_left` takes it, with its place in the list. */
type PlainWindow = ReturnType<typeof plainWindow>;

function plainWindow({ subject, of, budget, from, to }: BudgetWindow, n: number) {
  return { n, s: subject, k: of === "key", m: budget.amount, f: from, t: to };
}

/** Told is what `decide` returns. */
interface Told {
  readonly captures: readonly (readonly [cost: number, waived: number] | null)[];
  readonly holds: readonly ToldHold[];
}

type ToldHold =
  | readonly ["held", amount: number, ...budget: ToldBudget | []]
  | readonly ["leased", grown: number]
  | readonly [
      "short",
      of: "limit" | "balance" | "budget" | "key",
      available: number,
      isLeased: boolean,
      ...budget: ToldBudget | [],
    ]
  | readonly ["stale", ...terms: [zone: string | null, ofAccount: string | null, ofKey: string | null]];

/** The window that leaves least, by its place, and how much. */
type ToldBudget = readonly [place: number, left: number, oldest: number | null];

/** Decided is what was decided of a turn. */
export interface Decided extends Decisions {
  /** recallable are holds that are short while other nodes have leases of their accounts. */
  readonly recallable: ReadonlySet<number>;
  /** stale are holds whose budgets have changed, with the present ones. Nothing was decided of these holds. */
  readonly stale: ReadonlyMap<number, BudgetTerms>;
}

export function decided(text: string, { releases, holds: asked }: Asked): Decided {
  const { captures, holds } = JSON.parse(text) as Told;
  return {
    captures: captures.map((one) => done<Captured | undefined>(one ? { cost: one[0], waived: one[1] } : undefined)),
    releases: releases.map(() => done(undefined)),
    holds: holds.map((one, place) => done(grantedOf(one, asked[place] as DecidedHold))),
    recallable: new Set(holds.flatMap((one, place) => (one[0] === "short" && one[3] ? [place] : []))),
    stale: new Map(
      holds.flatMap((one, place) => {
        if (one[0] !== "stale") return [];
        const [, zone, ofAccount, ofKey] = one;
        return [[place, { zone, ofAccount, ofKey }] as const];
      }),
    ),
  };
}

function grantedOf(told: ToldHold, asked: DecidedHold): Granted {
  if (told[0] === "leased") return { kind: "leased", grown: told[1] };
  if (told[0] === "held") {
    const [, amount, ...budget] = told;
    return { kind: "held", amount, ...budgetOf(budget, asked) };
  }
  // Of one that is stale nobody goes by this.
  if (told[0] === "stale") return { kind: "short", of: "budget", available: 0 };
  const [, of, available, , ...budget] = told;
  return { kind: "short", of, available, ...budgetOf(budget, asked) };
}

function budgetOf(told: ToldBudget | readonly [], asked: DecidedHold): { readonly budget?: BudgetLeft } {
  const [place, left, oldest] = told;
  const window = place === undefined ? undefined : windowsOfHold(asked)[place];
  if (!window || left === undefined) return {};
  const { of, budget, to } = window;
  return { budget: { of, budget, left, endsAt: endOf(budget, to, oldest ?? undefined) } };
}

function done<T>(value: T): Decision<T> {
  return { kind: "decided", value };
}

/**
 * itemsOf takes a turn apart into turns of one item each, in the order in which they count. Leases that are given back go with the first.
 */
export function itemsOf({ captures, releases, holds, leases }: Asked): Asked[] {
  return withLeases(leases, [
    ...captures.map((capture) => ({ ...nothing, captures: [capture] })),
    ...releases.map((id) => ({ ...nothing, releases: [id] })),
    ...holds.map((hold) => ({ ...nothing, holds: [hold] })),
  ]);
}

/** accountsOf takes a turn apart into one for each account, and one for releases, whose accounts the database knows alone. */
export function accountsOf({ captures, releases, holds, leases }: Asked): Asked[] {
  const accounts = new Set([
    ...captures.map(({ call }) => call.account_id),
    ...holds.map(({ accountId }) => accountId),
  ]);
  const parts = [...accounts].map((id) => ({
    ...nothing,
    captures: captures.filter(({ call }) => call.account_id === id),
    holds: holds.filter(({ accountId }) => accountId === id),
  }));
  return withLeases(leases, releases.length > 0 ? [{ ...nothing, releases }, ...parts] : parts);
}

const nothing: Asked = { captures: [], releases: [], holds: [], leases: [] };

function withLeases(leases: readonly string[], parts: readonly Asked[]): Asked[] {
  const [first = nothing, ...others] = parts;
  return [{ ...first, leases }, ...others];
}

/** failedItem returns that all of a turn failed. */
export function failedItem({ captures, releases, holds }: Asked, error: unknown): Decided {
  const failed = { kind: "failed", error } as const;
  const all = { captures: captures.map(() => failed), releases: releases.map(() => failed) };
  return { ...all, holds: holds.map(() => failed), recallable: new Set(), stale: new Map() };
}

/** joined puts what was decided of the parts of a turn into the order of the turn. */
export function joined(turn: Asked, parts: readonly Asked[], made: readonly Decided[]): Decided {
  const of = new Map<unknown, unknown>();
  const recalled = new Set<unknown>();
  const staleOf = new Map<unknown, BudgetTerms>();
  for (const [n, part] of parts.entries()) {
    const { captures, releases, holds, recallable, stale } = made[n] as Decided;
    for (const [i, one] of part.captures.entries()) of.set(one, captures[i]);
    for (const [i, one] of part.releases.entries()) of.set(one, releases[i]);
    for (const [i, one] of part.holds.entries()) {
      of.set(one, holds[i]);
      if (recallable.has(i)) recalled.add(one);
      const terms = stale.get(i);
      if (terms) staleOf.set(one, terms);
    }
  }
  return {
    captures: turn.captures.map((one) => of.get(one)) as Decided["captures"],
    releases: turn.releases.map((one) => of.get(one)) as Decided["releases"],
    holds: turn.holds.map((one) => of.get(one)) as Decided["holds"],
    recallable: new Set(turn.holds.flatMap((one, place) => (recalled.has(one) ? [place] : []))),
    stale: new Map(
      turn.holds.flatMap((one, place) => {
        const terms = staleOf.get(one);
        return terms ? [[place, terms] as const] : [];
      }),
    ),
  };
}
