/**
 * Releases at once what processes have leased and held that are known to have ended, by their locks (`node-lock.ts`): nobody waits for the
 * deadlines of those, as for what a process has that may live. Their journals are posted before, and their calls recorded as lost.
 */
import { troubleOf } from "../../../../runtime/write-trouble.ts";
import type { BooksOptions } from "../../../money/books.ts";
import type { BooksParts } from "../books/parts.ts";
import { createNodeLocks, lockedBy } from "../node-lock.ts";
import { createPostNow } from "./recover.ts";

/**
 * createEndGone returns a function that does so, and returns the nodes that are known to live. It throws where another process is writing:
 * then it is called again.
 */
export function createEndGone(parts: BooksParts, options: BooksOptions): () => readonly string[] {
  const { engine, rows, steps, own } = parts;
  const { clock, onError } = options;
  const locks = createNodeLocks(engine.segments.folder, onError);
  const postNow = createPostNow(parts, options);
  const selectNodes = engine.books.prepare<[], { readonly node: string }>("SELECT DISTINCT node FROM holds");

  /** end posts the journal of a node first, so that calls whose charge was told are charged, and not recorded as lost. */
  function end(node: string): void {
    postNow(node);
    while (engine.books.transact(() => steps.expireOf(node, clock())) > 0);
  }

  return () => {
    const locked = locks.nodes().filter((node) => !own.has(node));
    if (locked.length === 0) return [];
    // The lock comes before all that is of a node: one that has nothing here may be about to take its lock, unless it is old.
    const old = lockedBy(clock());
    const known = new Set([...selectNodes.all(), ...rows.open()].map(({ node }) => node));
    const living: string[] = [];
    for (const node of locked) {
      const lock = known.has(node) || node < old ? locks.takeEnded(node) : "unknown";
      if (lock === "lives") living.push(node);
      if (typeof lock === "string") continue;
      try {
        end(node);
      } catch (error) {
        lock.leave();
        if (troubleOf(error) === "locked") throw error;
        onError(error);
        continue;
      }
      lock.end();
    }
    return living;
  };
}
