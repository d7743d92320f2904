/**
 * Keeps a worker's books open with its owner, whoever that is: where one has died, or another takes its place, they are opened with the
 * next. Meanwhile no lease is drawn on: each hold is decided, once there is an owner.
 */
import { setTimeout as delay } from "node:timers/promises";
import { newId } from "../../../runtime/ids.ts";
import { ClosedError } from "../../../runtime/ipc/channel.ts";
import type { Link } from "../../../runtime/ipc/link.ts";
import { Deferred } from "../../../runtime/maybe-promise.ts";
import type { BooksOptions } from "../../money/books.ts";
import type { Before, BooksQuestions } from "./contract.ts";

export interface KeepOpenOptions extends Pick<BooksOptions, "node" | "recall" | "holding" | "onError"> {
  readonly link: Link;
  readonly hasJournal: boolean;
  /** keepLock keeps the lock by which others see that a node of this process lives, until the returned function is called. */
  readonly keepLock: (node: string) => () => void;
}

export interface KeptOpen {
  isOpen(): boolean;
  /**
   * Resolves when the books are open. Rejects with a ClosedError once they have been shut for `maxMs` milliseconds; without them it waits
   * for as long as it takes.
   */
  whenOpen(maxMs?: number): Promise<void>;
  /** Opens them no more. */
  end(): void;
}

/**
 * pausesMs are between tries to open books that an owner could not open, in milliseconds; the last one is repeated. Each try leaves a name
 * that the next owner asks about: while a disk is full for hours, those are to stay few.
 */
const pausesMs = [500, 1000, 2000, 4000];

interface State extends KeepOpenOptions {
  /** The names under which owners keep the books, or may keep them. */
  nodes: readonly string[];
  /** unlocks end the locks of names but the first, whose lock is kept for as long as the process lives. */
  readonly unlocks: Map<string, () => void>;
  isOpen: boolean;
  /** Resolves when they are open. */
  opened: Deferred<void>;
  /** shutAt is when they were last shut, by `performance.now()`. */
  shutAt: number;
  /** Counts owners, so that what was begun with one ends with it. */
  round: number;
  isEnded: boolean;
}

export function keepOpen(options: KeepOpenOptions): KeptOpen {
  const { link, recall } = options;
  const state: State = {
    ...options,
    ...{ nodes: [], unlocks: new Map(), isOpen: false, opened: new Deferred() },
    ...{ shutAt: performance.now(), round: 0, isEnded: false },
  };
  link.onClose(() => {
    shut(state);
    recall("");
  });
  link.onConnect(() => void openWith(state));
  link.onLeave(async () => {
    if (!state.isOpen) return;
    shut(state);
    await link.by<BooksQuestions>().ask("books.leave", recall(""));
  });
  if (!link.isClosed()) void openWith(state);
  return {
    isOpen: () => state.isOpen,
    whenOpen: (maxMs) => whenOpen(state, maxMs),
    end() {
      state.isEnded = true;
    },
  };
}

function shut(state: State): void {
  state.round++;
  if (!state.isOpen) return;
  Object.assign(state, { isOpen: false, opened: new Deferred(), shutAt: performance.now() });
}

/** openWith opens the books with the owner that is connected, and tries again until they are open or it is gone. */
async function openWith(state: State): Promise<void> {
  shut(state);
  const { round, link, onError } = state;
  for (let tries = 0; round === state.round && !state.isEnded; tries++) {
    try {
      await openOnce(state);
    } catch (error) {
      if (link.isClosed() || round !== state.round) return;
      if (!(error instanceof ClosedError)) onError(error);
      await delay(pausesMs[Math.min(tries, pausesMs.length - 1)], undefined, { ref: false });
      continue;
    }
    if (round !== state.round) return;
    state.isOpen = true;
    return state.opened.resolve();
  }
}

/**
 * Each try has a name of its own: an owner that dies meanwhile may have opened the books under it. Its lock comes before all that is of
 * it, and goes once everything is another's, or nothing was opened under it.
 */
async function openOnce(state: State): Promise<void> {
  const { link, hasJournal, nodes, round, unlocks, keepLock } = state;
  const node = nodes.length === 0 ? state.node : newId("nod");
  if (nodes.length > 0) unlocks.set(node, keepLock(node));
  const before = nodes.length === 0 ? null : leftBefore(state);
  state.nodes = [...nodes, node];
  try {
    await link.by<BooksQuestions>().ask("books.open", { node, hasJournal, sender: state.node, before });
  } catch (error) {
    // The owner lives, and has opened nothing under this name. While a disk is full for hours, such names are many.
    if (!(error instanceof ClosedError)) unlock(state, [node]);
    throw error;
  }
  if (round !== state.round) return;
  state.nodes = [node];
  unlock(
    state,
    [...unlocks.keys()].filter((name) => name !== node),
  );
}

function unlock({ unlocks }: State, names: readonly string[]): void {
  for (const name of names) {
    unlocks.get(name)?.();
    unlocks.delete(name);
  }
}

function leftBefore({ nodes, recall, holding }: State): Before {
  const { records } = recall("");
  return { nodes, records, calls: holding?.() ?? [] };
}

function whenOpen({ opened, shutAt }: State, maxMs: number | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const leftMs = maxMs === undefined ? undefined : shutAt + maxMs - performance.now();
    const late = leftMs === undefined ? undefined : setTimeout(() => reject(new ClosedError()), Math.max(0, leftMs));
    opened.then(() => {
      clearTimeout(late);
      resolve();
    });
  });
}
