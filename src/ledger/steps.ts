/** Steps are what calls ask the books to decide, until a turn takes them. */
import { LockedError } from "../runtime/write-trouble.ts";
import {
  type DecidedCapture,
  type Decision,
  type Decisions,
  type Granted,
  type LeaseName,
  maxWaitMs,
  type Turn,
} from "../storage/money/books.ts";
import type { Captured, HoldRequest } from "./contract.ts";

/** Kinds is what is asked of each kind, and what comes of it. */
interface Kinds {
  readonly captures: { readonly item: DecidedCapture; readonly result: Captured | undefined };
  readonly releases: { readonly item: string; readonly result: undefined };
  readonly holds: { readonly item: HoldRequest; readonly result: Granted };
}

/** Enlisted is a step that is asked. */
export interface Enlisted<K extends keyof Kinds, T> {
  readonly item: Kinds[K]["item"];
  /** The account whose leases are released first, so that what is left is known exactly. */
  readonly accountId: string;
  /** Runs when it is committed, before anything else does. */
  readonly after: (result: Kinds[K]["result"]) => T;
}

interface Step<K extends keyof Kinds> extends Enlisted<K, unknown> {
  readonly done: (value: unknown) => void;
  readonly failed: (error: unknown) => void;
  /** Fires when it has waited for too long. */
  late: NodeJS.Timeout | undefined;
}

type AnyStep = Step<"captures"> | Step<"releases"> | Step<"holds">;

export interface Steps {
  readonly captures: Step<"captures">[];
  readonly releases: Step<"releases">[];
  readonly holds: Step<"holds">[];
}

export interface WaitingSteps extends Steps {
  /** `isQueued` says that the books are deciding at this moment. */
  enlist<K extends keyof Steps, T>(kind: K, step: Enlisted<K, T>, isQueued: boolean): Promise<T>;
  all(): AnyStep[];
  isEmpty(): boolean;
  /** Fails these steps, which no turn has taken. */
  fail(steps: readonly AnyStep[], error: unknown): void;
}

export function noSteps(): WaitingSteps {
  const steps: Steps = { captures: [], releases: [], holds: [] };
  const lists = Object.values(steps) as AnyStep[][];

  function fail(failed: readonly AnyStep[], error: unknown): void {
    for (const list of lists) list.splice(0, list.length, ...list.filter((step) => !failed.includes(step)));
    for (const step of failed) {
      clearTimeout(step.late);
      step.failed(error);
    }
  }

  return {
    ...steps,
    fail,
    enlist<K extends keyof Steps, T>(kind: K, enlisted: Enlisted<K, T>, isQueued: boolean): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        const done = resolve as AnyStep["done"];
        const step = { ...enlisted, done, failed: reject, late: undefined } as unknown as AnyStep;
        if (isQueued) step.late = setTimeout(() => fail([step], new LockedError()), maxWaitMs);
        (steps[kind] as AnyStep[]).push(step);
      });
    },
    all: () => lists.flat(),
    isEmpty: () => lists.every(({ length }) => length === 0),
  };
}

export interface TurnOptions {
  /** Counts the leases of these accounts as gone, and returns their ids. */
  readonly giveBack: (accountIds: ReadonlySet<string>) => readonly string[];
  /** Names the lease that is to grow for a hold; undefined for none. */
  readonly leaseFor: (request: HoldRequest) => LeaseName | undefined;
}

/** TakenSteps are the steps of a turn that the books decide. */
interface TakenSteps {
  readonly turn: Omit<Turn, "records">;
  finish(decisions: Decisions): void;
  fail(error: unknown): void;
}

/** takeSteps makes a turn of all steps that wait. */
export function takeSteps(waiting: WaitingSteps, { giveBack, leaseFor }: TurnOptions): TakenSteps {
  const { captures, releases, holds } = waiting;
  const steps = waiting.all();
  for (const { late } of steps) clearTimeout(late);
  const leases = giveBack(new Set(steps.map(({ accountId }) => accountId)));
  return {
    turn: {
      leases,
      captures: captures.map(({ item }) => item),
      releases: releases.map(({ item }) => item),
      holds: holds.map(({ item }) => ({ ...item, lease: leaseFor(item) })),
    },
    finish(decisions) {
      for (const [i, step] of captures.entries()) finish(step, decisions.captures[i]);
      for (const [i, step] of releases.entries()) finish(step, decisions.releases[i]);
      for (const [i, step] of holds.entries()) finish(step, decisions.holds[i]);
    },
    fail(error) {
      for (const step of steps) step.failed(error);
    },
  };
}

function finish<K extends keyof Kinds>(step: Step<K>, decision: Decision<Kinds[K]["result"]> | undefined): void {
  if (decision?.kind === "later") {
    decision.decision.then((decided) => finish(step, decided), step.failed);
    return;
  }
  if (decision?.kind !== "decided") {
    step.failed(decision?.error ?? new Error("the books did not decide"));
    return;
  }
  try {
    step.done(step.after(decision.value));
  } catch (error) {
    step.failed(error);
  }
}
