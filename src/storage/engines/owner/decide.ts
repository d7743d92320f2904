/**
 * Decides turns of workers. Before a hold is refused for want of credit, and before more is charged than was held, the idle leases that
 * other workers have of the account come back, for which a turn waits up to 0.4 s. A worker that does not answer keeps its own until it
 * answers or dies.
 */
import { setTimeout as delay } from "node:timers/promises";
import { toldError } from "../../../runtime/ipc/channel.ts";
import { andThen, catchError, type MaybePromise } from "../../../runtime/maybe-promise.ts";
import { type Decision, type Decisions, type Recalled, type Turn, whenKnown } from "../../money/books.ts";
import { type Available, lacksCredit } from "../../money/contract.ts";
import type { TakeOver } from "../sqlite/journal/take-over.ts";
import type { AskedTurn, ToldDecision, ToldDecisions } from "./contract.ts";
import { haveLeases, recallFrom, type Served, wrote } from "./served.ts";

export interface DecideOptions extends Pick<TakeOver, "captured" | "hasLeases"> {
  /** Names the owner's own books, which expire what others left. */
  readonly node: string;
  readonly available: (keyId: string) => Available;
}

/** Keeping is what an owner keeps for all workers. */
export interface Keeping {
  readonly workers: ReadonlySet<Served>;
  readonly options: DecideOptions;
  /** startedAt is by `performance.now()`. */
  readonly startedAt: number;
}

/** recallMs is how long a turn waits for the idle leases of other workers, in milliseconds. */
export const recallMs = 400;
/** comingMs is how long after its start an owner waits for workers that another has served, in milliseconds. */
export const comingMs = 10_000;
/** lookMs is how often it looks whether they have come, in milliseconds. */
const lookMs = 10;

export function decide(worker: Served, turn: AskedTurn, keeping: Keeping): MaybePromise<ToldDecisions> {
  const { workers, options } = keeping;
  const others = [...workers].filter((one) => one !== worker);
  const until = performance.now() + recallMs;
  const isToCome = createIsToCome(keeping);
  const decideAll = () =>
    andThen(decideOnce(worker, turn), (decisions) =>
      decideAgain(
        { worker, turn, others, until, isToCome },
        turn.isRepeated ? known(turn, decisions, options) : decisions,
      ),
    );
  const accounts = accountsShort(turn, others, keeping, isToCome);
  if (accounts.length === 0) return decideAll();
  return recallFrom(others, accounts, recallMs)
    .then(() => whenCome(accounts, until, isToCome))
    .then(decideAll);
}

/**
 * createIsToCome returns a function that reports whether a worker that another owner served has leases of an account, and has not opened
 * its books here: soon after the start they are to come back.
 */
function createIsToCome({ workers, options, startedAt }: Keeping): (accountId: string) => boolean {
  if (performance.now() - startedAt > comingMs) return () => false;
  return (accountId) => options.hasLeases(accountId, [options.node, ...[...workers].map(({ node }) => node)]);
}

/** whenCome waits until the leases of accounts are there that are to come. */
async function whenCome(accounts: readonly string[], until: number, isToCome: Deciding["isToCome"]): Promise<void> {
  while (performance.now() < until && accounts.some(isToCome)) await delay(lookMs);
}

/** known fills in what calls were charged that an owner of before has captured. */
function known({ captures }: AskedTurn, decisions: Decisions, { captured }: DecideOptions): Decisions {
  return {
    ...decisions,
    captures: decisions.captures.map((decision, i) =>
      decision.kind === "decided" && decision.value === undefined
        ? { kind: "decided", value: captured(captures[i]?.call.id ?? "") }
        : decision,
    ),
  };
}

function decideOnce(worker: Served, turn: Turn): MaybePromise<Decisions> {
  const { books, leases } = worker;
  let records: Recalled["records"] = [];
  const given = [...worker.unreleased, ...turn.leases];
  worker.unreleased = [];
  const next = () => {
    records = turn.records.filter(({ seq }) => seq > worker.written);
    return { ...turn, records, leases: given };
  };
  const failed = (error: unknown) => {
    worker.unreleased = [...given, ...worker.unreleased];
    throw error;
  };
  const deciding = catchError(() => books.decide(next), failed);
  return andThen(andThen(deciding, allKnown), (decisions) => {
    wrote(worker, records);
    for (const id of given) leases.remove(id);
    for (const [i, { lease, accountId }] of turn.holds.entries()) {
      const decision = decisions.holds[i];
      if (lease && decision?.kind === "decided" && decision.value.kind === "leased") leases.add(lease.id, accountId);
    }
    return decisions;
  });
}

/** allKnown waits for what the books decide later: a worker is told of a turn at once. */
function allKnown(decisions: Decisions): MaybePromise<Decisions> {
  const { captures, releases, holds } = decisions;
  if (![...captures, ...releases, ...holds].some(({ kind }) => kind === "later")) return decisions;
  return (async () => ({
    captures: await Promise.all(captures.map(whenKnown)),
    releases: await Promise.all(releases.map(whenKnown)),
    holds: await Promise.all(holds.map(whenKnown)),
  }))();
}

interface Deciding {
  readonly worker: Served;
  readonly turn: Turn;
  readonly others: readonly Served[];
  /** until is when leases of others are no longer waited for, by `performance.now()`. */
  readonly until: number;
  /** Reports whether leases of an account are to come back from workers whose books are not open yet. */
  readonly isToCome: (accountId: string) => boolean;
}

/** decideAgain decides anew what is short while other workers have leases of its account, once those have come back. */
function decideAgain(
  { worker, turn, others, until, isToCome }: Deciding,
  before: Decisions,
): MaybePromise<ToldDecisions> {
  const holds = [...before.holds];
  const short = () =>
    [...holds.keys()].filter((i) => {
      const decision = holds[i];
      const isShort = decision?.kind === "decided" && lacksCredit(decision.value);
      const accountId = turn.holds[i]?.accountId ?? "";
      return isShort && (haveLeases(others, accountId) || isToCome(accountId));
    });
  if (short().length === 0) return toldDecisions(before);
  return (async () => {
    for (let places = short(); places.length > 0 && performance.now() < until; places = short()) {
      const asked = places.flatMap((i) => turn.holds[i] ?? []);
      const accounts = [...new Set(asked.map(({ accountId }) => accountId))];
      await recallFrom(others, accounts, until - performance.now());
      await whenCome(accounts, until, isToCome);
      const again = await decideOnce(worker, { records: [], leases: [], captures: [], releases: [], holds: asked });
      for (const [at, i] of places.entries()) holds[i] = again.holds[at] as (typeof holds)[number];
    }
    return toldDecisions({ ...before, holds });
  })();
}

/** accountsShort returns the accounts of a turn of which other workers have leases, and whose credit beyond those may not suffice. */
function accountsShort(
  { captures, holds }: Turn,
  others: readonly Served[],
  { options: { available } }: Keeping,
  isToCome: Deciding["isToCome"],
): string[] {
  const accounts = new Set<string>();
  for (const { call, isCovered } of captures)
    if (!isCovered && (haveLeases(others, call.account_id) || isToCome(call.account_id))) accounts.add(call.account_id);
  const wanted = new Map<string, number>();
  for (const { accountId, keyId, max } of holds) {
    if (accounts.has(accountId) || !haveLeases(others, accountId)) continue;
    const sum = (wanted.get(accountId) ?? 0) + max;
    wanted.set(accountId, sum);
    if (available(keyId).available < sum) accounts.add(accountId);
  }
  return [...accounts];
}

function toldDecisions({ captures, releases, holds }: Decisions): ToldDecisions {
  return { captures: captures.map(toldDecision), releases: releases.map(toldDecision), holds: holds.map(toldDecision) };
}

function toldDecision(decision: Decision<unknown>): ToldDecision {
  if (decision.kind === "decided") return [0, decision.value];
  if (decision.kind === "later") throw new Error("a decision is told when it is known");
  const { message, code } = toldError(decision.error);
  return code === undefined ? [1, message] : [1, message, code];
}
