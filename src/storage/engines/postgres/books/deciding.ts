/**
 * Has the database decide turns. A turn that cannot be decided as a whole is taken apart: an item whose values cannot be written, or
 * whose account somebody else keeps locked, fails alone.
 */
import { isFault, LockedError } from "../../../../runtime/write-trouble.ts";
import type { DecidedHold, Decision, Decisions, Granted, Turn } from "../../../money/books.ts";
import type { BudgetTerms } from "../../../money/budgets.ts";
import type { Counts } from "../counts.ts";
import { isConflict, isConnectionError, isLocked } from "../errors.ts";
import type { Session } from "../session.ts";
import { call } from "./call.ts";
import { abandon } from "./functions/abandon.ts";
import { decide } from "./functions/decide.ts";
import type { Lane } from "./lane.ts";
import { createRecalling } from "./recalling.ts";
import { type Asked, accountsOf, type Decided, decided, failedItem, itemsOf, joined, turnValues } from "./turn.ts";
import type { Writer } from "./writing.ts";

export interface DecideOptions {
  readonly lane: Lane;
  readonly node: string;
  /** Writes records on the lane's connection. */
  readonly writeNow: Writer["writeNow"];
  /** Asks other nodes for their idle leases of accounts. */
  readonly recall: (accounts: readonly string[]) => Promise<void>;
  /** Has leases released later that a turn was to give back, and perhaps did not. */
  readonly releaseLater: (leases: readonly string[]) => void;
  readonly counts: Counts;
  /** Receives what keeps a lost turn from being undone. */
  readonly onError: (error: unknown) => void;
}

/** maxStale is how often a hold is decided anew because its budgets were changed at that moment. */
const maxStale = 10;

export interface Deciding {
  decide(next: () => Turn): Promise<Decisions>;
  /** Undoes turns of which nobody knows whether they were decided, for a node that has no other to decide. */
  undoLost(): Promise<void>;
}

export function createDecide(options: DecideOptions): Deciding {
  const { lane, writeNow, recall, releaseLater } = options;
  const turns = createTurns(options);

  async function decideItems(asked: Asked): Promise<Decided> {
    try {
      return await lane.run((session) => turns.ask(session, asked));
    } catch (error) {
      return decideApart(asked, error);
    }
  }

  /** Decides the parts of a turn for themselves, after one of them has failed all. */
  async function decideApart(asked: Asked, error: unknown): Promise<Decided> {
    releaseLater(asked.leases);
    if (!isFault(error) && !isLocked(error)) throw error;
    const parts = isLocked(error) ? accountsOf(asked) : itemsOf(asked);
    if (parts.length <= 1) return failedItem(asked, isLocked(error) ? new LockedError() : error);
    const made: Decided[] = [];
    // What was decided of the others is theirs, whatever becomes of this one.
    for (const part of parts) made.push(await decideItems(part).catch((failed) => failedItem(part, failed)));
    return joined(asked, parts, made);
  }

  const decideAgain = createRecalling({ decideItems, recall });

  const decideStale = createDecideStale(decideItems, decideAgain);

  const withLater = createWithLater(decideStale, decideAgain);

  async function decideTurn(next: () => Turn): Promise<Decisions> {
    let turn: Turn | undefined;
    let decisions: Decided;
    try {
      decisions = await lane.run(async (session) => {
        turn ??= next();
        await writeNow(session, turn.records);
        return turns.ask(session, turn);
      });
    } catch (error) {
      if (!turn) throw error;
      decisions = await decideApart(turn, error);
    }
    return turn ? withLater(turn, decisions) : decisions;
  }

  return {
    decide: decideTurn,
    async undoLost() {
      if (turns.hasLost() && !lane.isAway()) await lane.run((session) => turns.undo(session));
    },
  };
}

type DecideLater = (hold: DecidedHold) => Promise<Decision<Granted>>;

/**
 * createWithLater returns what has decided later what was short while other nodes had leases, and what was asked by other budgets than
 * those that are stored. The turn is over without it.
 */
function createWithLater(
  decideStale: (hold: DecidedHold, terms: BudgetTerms) => Promise<Decision<Granted>>,
  decideAgain: DecideLater,
) {
  return (asked: Asked, { recallable, stale, ...decisions }: Decided): Decisions => {
    if (recallable.size + stale.size === 0) return decisions;
    const holds = decisions.holds.map((one, place): Decision<Granted> => {
      const hold = asked.holds[place] as DecidedHold;
      const terms = stale.get(place);
      if (terms) return { kind: "later", decision: decideStale(hold, terms) };
      return recallable.has(place) ? { kind: "later", decision: decideAgain(hold) } : one;
    });
    return { ...decisions, holds };
  };
}

/** createDecideStale returns what decides a hold anew by the budgets that are stored. They may be changed once more meanwhile. */
function createDecideStale(decideItems: (asked: Asked) => Promise<Decided>, decideAgain: DecideLater) {
  return async (hold: DecidedHold, terms: BudgetTerms): Promise<Decision<Granted>> => {
    let again: DecidedHold = { ...hold, budgets: terms, lease: undefined };
    for (let tries = 0; tries < maxStale; tries++) {
      const made = await decideItems({ captures: [], releases: [], leases: [], holds: [again] });
      const stale = made.stale.get(0);
      if (!stale) return made.recallable.has(0) ? decideAgain(again) : (made.holds[0] as Decision<Granted>);
      again = { ...again, budgets: stale };
    }
    return { kind: "failed", error: new LockedError() };
  };
}

/** Numbers turns, and asks each under its number for as often as the connection breaks. */
function createTurns({ node, counts, onError }: DecideOptions) {
  const numbers = new WeakMap<Asked, number>();
  /** open are turns that were sent, and that may or may not have been decided. */
  let open: Asked[] = [];
  let last = 0;

  /**
   * Undoes other turns than this one: their callers were told that nothing came of them. One that the server refuses to undo holds up no
   * other: what it holds is free once its deadline is over.
   */
  async function undo(session: Session, except?: Asked): Promise<void> {
    for (const asked of open.filter((one) => one !== except)) {
      const ids = asked.holds.map((hold) => hold.requestId);
      const leases = asked.holds.map(({ lease }) => lease?.id ?? null);
      try {
        await call(session, abandon, [node, numbers.get(asked), ids, leases]);
      } catch (error) {
        if (isConnectionError(error) || isConflict(error) || isLocked(error)) throw error;
        onError(error);
      }
      open = open.filter((one) => one !== asked);
    }
  }

  return {
    undo,
    hasLost: () => open.length > 0,
    async ask(session: Session, asked: Asked): Promise<Decided> {
      await undo(session, asked);
      const isAgain = open.includes(asked);
      const number = numbers.get(asked) ?? ++last;
      numbers.set(asked, number);
      open = [...open.filter((one) => one !== asked), asked];
      try {
        const values = [node, number, ...turnValues(asked)];
        const text = await counts.batch("decide", sizeOf(asked), () => call<string>(session, decide, values));
        open = [];
        return decided(text, asked);
      } catch (error) {
        // The server itself has answered: nothing came of it, unless an earlier attempt is still under way there.
        if (!isConnectionError(error) && !isAgain) open = open.filter((one) => one !== asked);
        throw error;
      }
    },
  };
}

function sizeOf({ captures, releases, holds }: Asked): number {
  return captures.length + releases.length + holds.length;
}
