/** Says whether the database answers, in the words of `Writable`: readiness, metrics and the log read them. */
import type { Writable } from "../writable.ts";
import type { Watcher } from "./watcher.ts";

export interface Reachable extends Writable {
  close(): void;
}

const lookMs = 100;

export function createReachable(watcher: Pick<Watcher, "awayMs">): Reachable {
  const listeners = new Set<() => void>();
  let wasAway = false;
  const timer = setInterval(() => {
    const isAway = watcher.awayMs() !== undefined;
    if (isAway === wasAway) return;
    wasAway = isAway;
    for (const listener of listeners) listener();
  }, lookMs);
  timer.unref();
  return {
    trouble() {
      const ms = watcher.awayMs();
      return ms === undefined ? undefined : `the database does not answer, for ${Math.floor(ms / 1000)} s`;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => clearInterval(timer),
  };
}
