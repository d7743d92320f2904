/** Puts a turn into the form in which `decide` takes it, and reads what was decided. */
import type { Decision, Decisions, Granted, Turn } from "../../../money/books.ts";
import type { Captured } from "../../../money/contract.ts";

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

/** Gives names their places, from 1 on as Postgres counts, in the order in which it sorts them. */
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
  }));
  const calls = captures.map(({ call, most }) => ({ ...call, most }));
  const names = [accounts.names, keys.names, leases.names] as const;
  return [...names, given, JSON.stringify(calls), releases, JSON.stringify(wanted)];
}

/** Told is what `decide` returns. */
interface Told {
  readonly captures: readonly (readonly [cost: number, waived: number] | null)[];
  readonly holds: readonly ToldHold[];
}

type ToldHold =
  | readonly ["held", amount: number]
  | readonly ["leased", grown: number]
  | readonly ["short", of: "limit" | "balance", available: number, isLeased: boolean];

/** Decided is what was decided, and which holds are short though other nodes have leases of their accounts. */
export interface Decided extends Decisions {
  readonly recallable: ReadonlySet<number>;
}

export function decided(text: string, { releases }: Asked): Decided {
  const { captures, holds } = JSON.parse(text) as Told;
  return {
    captures: captures.map((one) => done<Captured | undefined>(one ? { cost: one[0], waived: one[1] } : undefined)),
    releases: releases.map(() => done(undefined)),
    holds: holds.map((one) => done(grantedOf(one))),
    recallable: new Set(holds.flatMap((one, place) => (one[0] === "short" && one[3] ? [place] : []))),
  };
}

function grantedOf(told: ToldHold): Granted {
  if (told[0] === "held") return { kind: "held", amount: told[1] };
  if (told[0] === "leased") return { kind: "leased", grown: told[1] };
  return { kind: "short", of: told[1], available: told[2] };
}

function done<T>(value: T): Decision<T> {
  return { kind: "decided", value };
}

/** Takes a turn apart into turns of one item each, in the order in which they count. Leases that are given back go with the first. */
export function itemsOf({ captures, releases, holds, leases }: Asked): Asked[] {
  return withLeases(leases, [
    ...captures.map((capture) => ({ ...nothing, captures: [capture] })),
    ...releases.map((id) => ({ ...nothing, releases: [id] })),
    ...holds.map((hold) => ({ ...nothing, holds: [hold] })),
  ]);
}

/** Takes a turn apart into one for each account, and one for releases, whose accounts the database knows alone. */
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

/** Returns that all of a turn failed. */
export function failedItem({ captures, releases, holds }: Asked, error: unknown): Decided {
  const failed = { kind: "failed", error } as const;
  const all = { captures: captures.map(() => failed), releases: releases.map(() => failed) };
  return { ...all, holds: holds.map(() => failed), recallable: new Set() };
}

/** Puts what was decided of the parts of a turn into the order of the turn. */
export function joined(turn: Asked, parts: readonly Asked[], made: readonly Decided[]): Decided {
  const of = new Map<unknown, unknown>();
  const recalled = new Set<unknown>();
  for (const [n, part] of parts.entries()) {
    const { captures, releases, holds, recallable } = made[n] as Decided;
    for (const [i, one] of part.captures.entries()) of.set(one, captures[i]);
    for (const [i, one] of part.releases.entries()) of.set(one, releases[i]);
    for (const [i, one] of part.holds.entries()) {
      of.set(one, holds[i]);
      if (recallable.has(i)) recalled.add(one);
    }
  }
  return {
    captures: turn.captures.map((one) => of.get(one)) as Decided["captures"],
    releases: turn.releases.map((one) => of.get(one)) as Decided["releases"],
    holds: turn.holds.map((one) => of.get(one)) as Decided["holds"],
    recallable: new Set(turn.holds.flatMap((one, place) => (recalled.has(one) ? [place] : []))),
  };
}
