/**
 * Watches whether writes arrive: whether the last one to the database, and to the journal beside it, worked or failed.
 *
 * While one fails, a write of nothing is tried now and then, so that recovery is noticed even if nobody writes. Another
 * process's lock is reported only once it has lasted: every writer holds it for a moment.
 */
import { type Trouble, troubleOf } from "../../runtime/write-trouble.ts";
import { holdMs, sweepMs } from "../money/books.ts";

/** Place is what is written to: the database, or the journal's files beside it. */
export type Place = "database" | "notes";

export interface Writable {
  /** Returns what keeps writes from arriving, and since when; undefined while they arrive. */
  trouble(): string | undefined;
  /** Calls `listener` whenever trouble begins or ends. Returns what removes it again. */
  onChange(listener: () => void): () => void;
}

export interface WritableWatch extends Writable {
  /** Runs a write, and remembers whether it worked. */
  watch<T>(place: Place, write: () => T): T;
  /** Writes nothing to the database, and returns whether that worked. It never throws. */
  probe(): boolean;
  /** Reports whether the database could not be written since `forget`, so that deadlines of processes that live may have passed. */
  wasAway(): boolean;
  /** forget says that those deadlines are moved on. */
  forget(): void;
  close(): void;
}

export interface WritableOptions {
  /** Writes nothing, and throws where that fails. */
  readonly probes: Readonly<Record<Place, () => void>>;
  /** Milliseconds since any moment; it never goes back. */
  readonly clock: () => number;
}

interface Failing {
  trouble: Trouble;
  readonly since: number;
}

const probeMs = 200;
/** lockedMs is how long another process may hold the lock before it is reported. */
const lockedMs = 1000;
/**
 * awayMs is how long another process may hold the lock before deadlines that lie ahead can pass, in milliseconds: each was moved on at most
 * one sweep before that began, and it is noticed one sweep later at the latest.
 */
const awayMs = holdMs - 2 * sweepMs;

const words: Readonly<Record<Trouble, string>> = {
  locked: "another process holds its lock",
  full: "the disk is full",
  read_only: "it is read-only",
  failing: "the disk fails",
  away: "it does not answer",
};

export function createWritable(options: WritableOptions): WritableWatch {
  const listeners = new Set<() => void>();
  const places = new FailingPlaces(options, () => {
    for (const listener of listeners) listener();
  });
  return {
    watch(place, write) {
      try {
        const result = write();
        places.worked(place);
        return result;
      } catch (error) {
        places.failed(place, error);
        throw error;
      }
    },
    probe: () => places.probe("database"),
    wasAway: () => places.wasAway,
    forget() {
      places.wasAway = false;
    },
    trouble: () => places.trouble(),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => places.stopProbing(),
  };
}

/** FailingPlaces are the places whose last write failed. They are probed until all of them work again. */
class FailingPlaces {
  readonly #failing = new Map<Place, Failing>();
  readonly #options: WritableOptions;
  readonly #onChange: () => void;
  #probing: NodeJS.Timeout | undefined;
  #isReported = false;
  wasAway = false;

  constructor(options: WritableOptions, onChange: () => void) {
    this.#options = options;
    this.#onChange = onChange;
  }

  worked(place: Place): void {
    if (this.#failing.size === 0 || !this.#failing.delete(place)) return;
    if (this.#failing.size === 0) this.stopProbing();
    this.#report();
  }

  failed(place: Place, error: unknown): void {
    // A failed write of the journal is always the disk's fault.
    const trouble = troubleOf(error) ?? (place === "notes" ? "failing" : undefined);
    if (!trouble) return;
    const before = this.#failing.get(place);
    if (before) before.trouble = trouble;
    else this.#failing.set(place, { trouble, since: this.#options.clock() });
    if (place === "database") this.wasAway ||= this.#isAway(before, trouble);
    this.#probing ??= setInterval(() => this.#probeFailing(), probeMs).unref();
    this.#report();
  }

  trouble(): string | undefined {
    const [reported] = [...this.#failing].filter(([, one]) => this.#isLasting(one));
    if (!reported) return undefined;
    const [place, { trouble, since }] = reported;
    const whose = place === "notes" ? "the journal beside the database" : "the database";
    return `${whose} cannot be written: ${words[trouble]}, for ${Math.floor((this.#options.clock() - since) / 1000)} s`;
  }

  stopProbing(): void {
    clearInterval(this.#probing);
    this.#probing = undefined;
  }

  probe(place: Place): boolean {
    try {
      this.#options.probes[place]();
      this.worked(place);
      return true;
    } catch (error) {
      this.failed(place, error);
      return false;
    }
  }

  #probeFailing(): void {
    for (const place of [...this.#failing.keys()]) this.probe(place);
    this.#report();
  }

  /** On a full disk a small write may find room between others that do not: so it counts, however short it was. */
  #isAway(before: Failing | undefined, trouble: Trouble): boolean {
    return trouble !== "locked" || (before !== undefined && this.#options.clock() - before.since >= awayMs);
  }

  #isLasting({ trouble, since }: Failing): boolean {
    return trouble !== "locked" || this.#options.clock() - since >= lockedMs;
  }

  #report(): void {
    const isNow = [...this.#failing.values()].some((one) => this.#isLasting(one));
    if (isNow === this.#isReported) return;
    this.#isReported = isNow;
    this.#onChange();
  }
}
