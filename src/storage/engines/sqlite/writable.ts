/**
 * Whether what is written arrives: the last write of the database, and of the notes beside it, worked or failed.
 *
 * While one fails, a write of nothing is tried now and then, so that it is known when writes work again though nobody makes
 * any. Another process's lock is no trouble until it has lasted: every writer has it for a moment.
 */
import { type Trouble, troubleOf } from "../../../runtime/write-trouble.ts";

/** What is written to. */
export type Place = "database" | "notes";

export interface Writable {
  /** Says what keeps writes from arriving, and for how long; undefined while they arrive. */
  trouble(): string | undefined;
  /** Calls this whenever there is trouble, and whenever there is none any more. Returns what ends that. */
  onChange(listener: () => void): () => void;
}

export interface WritableWatch extends Writable {
  /** Runs a write, and remembers whether it worked. */
  watch<T>(place: Place, write: () => T): T;
  close(): void;
}

export interface WritableOptions {
  /** Writes nothing, and throws where that fails. */
  readonly probes: Readonly<Record<Place, () => void>>;
  /** Milliseconds since whenever; it never goes back. */
  readonly clock: () => number;
}

interface Failing {
  trouble: Trouble;
  readonly since: number;
}

const probeMs = 200;
/** How long another process may hold the lock before anybody is told. */
const lockedMs = 1000;

const words: Readonly<Record<Trouble, string>> = {
  locked: "another process holds its lock",
  full: "the disk is full",
  read_only: "it is read-only",
  failing: "the disk fails",
};

export function createWritable({ probes, clock }: WritableOptions): WritableWatch {
  const failing = new Map<Place, Failing>();
  const listeners = new Set<() => void>();
  let probing: NodeJS.Timeout | undefined;
  let wasTold = false;

  const isTold = ({ trouble, since }: Failing) => trouble !== "locked" || clock() - since >= lockedMs;

  function tell(): void {
    const isNow = [...failing.values()].some(isTold);
    if (isNow === wasTold) return;
    wasTold = isNow;
    for (const listener of listeners) listener();
  }

  function worked(place: Place): void {
    failing.delete(place);
    if (failing.size === 0) close();
    tell();
  }

  function failed(place: Place, error: unknown): void {
    // What a note fails by is always the disk's.
    const trouble = troubleOf(error) ?? (place === "notes" ? "failing" : undefined);
    if (!trouble) return;
    const before = failing.get(place);
    if (before) before.trouble = trouble;
    else failing.set(place, { trouble, since: clock() });
    probing ??= setInterval(probe, probeMs).unref();
    tell();
  }

  function probe(): void {
    for (const place of [...failing.keys()]) {
      try {
        probes[place]();
        worked(place);
      } catch (error) {
        failed(place, error);
      }
    }
    tell();
  }

  function close(): void {
    clearInterval(probing);
    probing = undefined;
  }

  return {
    watch(place, write) {
      try {
        const result = write();
        if (failing.size > 0 && failing.has(place)) worked(place);
        return result;
      } catch (error) {
        failed(place, error);
        throw error;
      }
    },
    trouble() {
      const [told] = [...failing].filter(([, one]) => isTold(one));
      if (!told) return undefined;
      const [place, { trouble, since }] = told;
      const whose = place === "notes" ? "notes beside the database" : "the database";
      return `${whose} cannot be written: ${words[trouble]}, for ${Math.floor((clock() - since) / 1000)} s`;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close,
  };
}
