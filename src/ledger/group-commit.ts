/**
 * Group commit: all that is asked of the books in one turn of the event loop is decided in one transaction, and all entries that are
 * added in one turn become one record.
 *
 * At most one transaction that decides, and one write (`writes.ts`), is under way. What is asked meanwhile joins the next; where the books
 * wait for another process's lock, it joins the one that waits. Whoever has waited for `maxWaitMs` fails with a LockedError.
 *
 * Nobody waits for the entry of a hold. Books for which a write is dear have it wait for others, for some milliseconds
 * (`Books.holdDelayMs`): a call that ends within that time is written once. And they have writes keep a distance of each other
 * (`Books.writeEveryMs`): what comes meanwhile goes with the next, and what comes after a pause goes at once.
 */
import { catchError, Deferred, thenOrCatch } from "../runtime/maybe-promise.ts";
import { recordAtTurnEnd } from "../runtime/turn-end.ts";
import type { Books, Entry, HoldEntry, JournalRecord, Recalled } from "../storage/money/books.ts";
import { type Enlisted, noSteps, type Steps, type TurnOptions, takeSteps } from "./steps.ts";
import { createUnwritten, type Unwritten } from "./unwritten.ts";
import { createWrites } from "./writes.ts";

export interface GroupCommitOptions extends TurnOptions {
  readonly books: Pick<Books, "decide" | "write" | "note" | "holdDelayMs" | "writeEveryMs">;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** Receives errors of what is tried again. */
  readonly onError: (error: unknown) => void;
}

export interface GroupCommit {
  /** Has a step decided with this turn. It resolves when that is committed. */
  enlist<K extends keyof Steps, T>(kind: K, step: Enlisted<K, T>): Promise<T>;
  /** Adds what came of a call, which is written at the end of this turn; a hold within `holdDelayMs`. */
  add(entry: Entry): void;
  /** Takes back an entry that could not be written. Returns false where it is written, or may be. */
  withdraw(entry: Entry): boolean;
  /** Resolves when all that was added until the end of this turn is durable. */
  written(): Deferred<void>;
  /** Has all that is not written written at the end of this turn; undefined where there is nothing. Before leases are released. */
  drained(): Deferred<void> | undefined;
  /** Returns all records that are not known to be written. */
  unwritten(): readonly JournalRecord[];
  /** Returns the ids of the calls of which something is not known to be written. */
  unwrittenCalls(): string[];
  /** trouble returns what keeps writes from arriving; undefined while they arrive. Meanwhile no call may begin without a decision. */
  trouble(): unknown;
  /** Waits for what is under way. What cannot be written is given up from now on. */
  settled(): Promise<void>;
}

export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { holdDelayMs = 0 } = options.books;
  const unwritten = createUnwritten(options.clock);
  const decisions = createDecisions(options, unwritten);
  const writes = createWrites(options, unwritten);
  const drained = () => (unwritten.isAny() ? written() : undefined);
  const delay = createDelay(holdDelayMs, () => void drained());
  const noteBegun = createNotes(options, unwritten);
  let turn: Deferred<void> | undefined;
  let isWriteDue = false;

  function written(): Deferred<void> {
    isWriteDue = true;
    return turnEnd();
  }

  function turnEnd(): Deferred<void> {
    if (turn) return turn;
    const begun = new Deferred<void>();
    turn = begun;
    recordAtTurnEnd(() => endTurn(begun));
    return begun;
  }

  /** Before what calls ask their upstreams is sent, in the same turn (`turn-end.ts`). */
  function endTurn(ending: Deferred<void>): void {
    decisions.run();
    turn = undefined;
    noteBegun.now();
    const wasWriteDue = isWriteDue;
    isWriteDue = false;
    if (wasWriteDue) return void writes.end(ending);
    if (unwritten.isAny()) delay.begin();
    ending.resolve();
  }

  return {
    enlist(kind, step) {
      void turnEnd();
      return decisions.enlist(kind, step);
    },
    add(entry) {
      unwritten.add(entry);
      if (entry.kind === "hold") noteBegun.add(entry);
      if (entry.kind !== "hold" || holdDelayMs === 0) isWriteDue = true;
      void turnEnd();
    },
    withdraw: unwritten.withdraw,
    written,
    drained,
    unwritten: unwritten.seal,
    unwrittenCalls: unwritten.calls,
    trouble: writes.trouble,
    async settled() {
      delay.end();
      writes.finish();
      await whenIdle(() => turn ?? writes.running() ?? decisions.running());
    },
  };
}

/** whenIdle resolves when nothing is under way any more, whatever became of it. */
async function whenIdle(underWay: () => PromiseLike<unknown> | undefined): Promise<void> {
  while (underWay()) await catchError(underWay, () => {});
}

/** Does work a while after `begin`, or at `end`. */
function createDelay(ms: number, work: () => void) {
  let timer: NodeJS.Timeout | undefined;
  function end(): void {
    clearTimeout(timer);
    timer = undefined;
    work();
  }
  return {
    begin(): void {
      timer ??= setTimeout(end, ms);
    },
    end,
  };
}

/** Notes calls that begin, where what is written of them takes a while (`Books.note`). */
function createNotes({ books }: Pick<GroupCommitOptions, "books">, { lastSeq }: Unwritten) {
  let begun: HoldEntry[] = [];
  return {
    add(entry: HoldEntry): void {
      if (books.note) begun.push(entry);
    },
    now(): void {
      if (begun.length > 0) books.note?.(begun, lastSeq());
      begun = [];
    },
  };
}

interface DecisionLane {
  enlist: GroupCommit["enlist"];
  /** Has all steps decided, unless the books are deciding. */
  run(): void;
  /** Resolves when the books have decided; undefined where they are not deciding. */
  running(): PromiseLike<void> | undefined;
}

function createDecisions(options: GroupCommitOptions, unwritten: Unwritten): DecisionLane {
  let waiting = noSteps();
  let running: Deferred<void> | undefined;

  function run(): void {
    if (running || waiting.isEmpty()) return;
    const asked = waiting.all();
    let taken: ReturnType<typeof takeSteps> | undefined;
    let records: Recalled["records"] = [];
    const next = () => {
      records = unwritten.seal();
      taken = takeSteps(waiting, options);
      waiting = noSteps();
      return { ...taken.turn, records };
    };
    const isOver = new Deferred<void>();
    running = isOver;
    const over = (after: () => void) => {
      running = undefined;
      after();
      isOver.resolve();
    };
    thenOrCatch(
      () => options.books.decide(next),
      (decisions) =>
        over(() => {
          unwritten.written(records.at(-1)?.seq ?? 0);
          taken?.finish(decisions);
          // What was asked meanwhile has waited long enough.
          run();
        }),
      (error) =>
        over(() => {
          if (taken) taken.fail(error);
          else waiting.fail(asked, error);
          run();
        }),
    );
  }

  return {
    enlist: (kind, step) => waiting.enlist(kind, step, running !== undefined),
    run,
    running: () => running,
  };
}
