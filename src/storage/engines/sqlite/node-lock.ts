/**
 * Shows other processes on this machine that a node lives: by a lock of a file of its own, which the system takes back when the process
 * ends, however that is. So processes may share a folder: none takes for a dead node's what a living one keeps there, however long that
 * could not tell the database that it lives.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { firstIdAt } from "../../../runtime/ids.ts";
import { dayMs } from "../../../runtime/time/durations.ts";
import { connect } from "./database.ts";
import { takes } from "./presence.ts";

export interface NodeLocks {
  /** Keeps the lock of a node of this process until the returned function is called. */
  keep(node: string): () => void;
  /** nodes returns the nodes that have a file here: they live, or have ended without a word. */
  nodes(): string[];
  /**
   * takeEnded takes the lock of a node that has ended. Else it returns whether the node lives, or nobody knows, as where its file cannot be
   * read. One without a file never had a lock: `hasFile` says that it does not count as ended then.
   */
  takeEnded(node: string, hasFile?: boolean): EndedNode | Standing;
  /** Ends all locks that are kept. */
  close(): void;
}

/** Standing is what is known of a node whose lock could not be taken. */
export type Standing = "lives" | "unknown";

/** EndedNode is a node that has ended, whose lock this process has taken. */
export interface EndedNode {
  /** Ends the lock for good: all is done that is to be done of the node. */
  end(): void;
  /** Lets go of the lock, so that the node is found again. */
  leave(): void;
}

/**
 * lockEndings are how the names of lock files end: of nodes with books, and of processes that claim keys and make responses
 * (`../../processes.ts`). Each kind is another's to look for.
 */
const lockEndings = { books: ".lock", calls: ".calls" } as const;

/** startMs is how long after it has its name a node has its lock at the latest, in milliseconds: by far. */
const startMs = dayMs;

/** lockedBy returns a name which those of nodes are below that have their locks by now, if they live. `now` is in milliseconds since 1970. */
export function lockedBy(now: number): string {
  return firstIdAt("nod", now - startMs);
}

/** mostTries is how often a lock is tried to be had that others look at. */
const mostTries = 100;

type Lock = ReturnType<typeof connect>;

function take(file: string): Lock | undefined {
  const lock = connect(file, { timeout: 0 });
  let isTaken = false;
  try {
    isTaken = takes(lock, "BEGIN EXCLUSIVE");
  } finally {
    if (!isTaken) lock.close();
  }
  return isTaken ? lock : undefined;
}

/** takeSoon takes a lock that others may be looking at in this moment. */
function takeSoon(file: string): Lock | undefined {
  let lock = take(file);
  for (let tries = 0; !lock && tries < mostTries; tries++) lock = take(file);
  return lock;
}

function end(lock: Lock | undefined, file: string): void {
  // In this order: who has opened the file meanwhile has the lock of one that nobody looks at.
  const isRemoved = removed(file);
  lock?.close();
  // Windows removes no file that is open.
  if (!isRemoved) removed(file);
}

function removed(file: string): boolean {
  try {
    rmSync(file, { force: true });
    return true;
  } catch {
    return false;
  }
}

/** createTakeReadable returns what takes a lock unless it cannot be read. `onError` receives once why, and its name. */
function createTakeReadable(onError: (error: unknown) => void): (file: string) => Lock | Standing {
  const reported = new Set<string>();
  return (file) => {
    try {
      return take(file) ?? "lives";
    } catch (error) {
      // Another process may have removed the file meanwhile: then its node has ended, and nothing is wrong.
      if (!existsSync(file) || reported.has(file)) return "unknown";
      reported.add(file);
      onError(
        new Error(
          `${file} cannot be read, by which processes see whether that one lives. Remove it once it has ended`,
          {
            cause: error,
          },
        ),
      );
      return "unknown";
    }
  };
}

/**
 * `onError` receives why a lock cannot be kept, and once why that of another node cannot be read: then processes go by what the database
 * says of the node.
 */
export function createNodeLocks(
  folder: string,
  onError: (error: unknown) => void,
  kind: keyof typeof lockEndings = "books",
): NodeLocks {
  const ending = lockEndings[kind];
  const fileOf = (node: string) => join(folder, node + ending);
  const kept = new Map<string, () => void>();
  const takeReadable = createTakeReadable(onError);

  return {
    keep(node) {
      const file = fileOf(node);
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writeFileSync(file, "", { mode: 0o600 });
        const lock = takeSoon(file);
        if (!lock) throw new Error("another process has the lock");
        kept.set(node, () => end(lock, file));
        return () => {
          kept.get(node)?.();
          kept.delete(node);
        };
      } catch (error) {
        // A file without a lock says that its process has ended.
        removed(file);
        onError(
          new Error(`${file} cannot be locked, by which other processes see that this one lives`, { cause: error }),
        );
        return () => {};
      }
    },
    close() {
      for (const unlock of kept.values()) unlock();
      kept.clear();
    },
    nodes() {
      if (!existsSync(folder)) return [];
      return readdirSync(folder).flatMap((name) => (name.endsWith(ending) ? [name.slice(0, -ending.length)] : []));
    },
    takeEnded(node, hasFile = false) {
      const file = fileOf(node);
      // One of an older version has no lock.
      if (!existsSync(file)) return hasFile ? "unknown" : { end() {}, leave() {} };
      const lock = takeReadable(file);
      return typeof lock === "string" ? lock : { end: () => end(lock, file), leave: () => void lock.close() };
    },
  };
}
