/**
 * Tells workers how their database is: that keys, limits or accounts have changed, and whether writes arrive. What a worker changes is
 * answered only once all others go by it, so that a key that was revoked over one is refused by all.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Channel } from "../../../runtime/ipc/channel.ts";
import type { BooksQuestions, DatabaseState, LedgerQuestions } from "./contract.ts";

export interface StateSource {
  /** Returns another number after any change, by whatever process. */
  readonly version: () => number;
  readonly trouble: () => string | undefined;
}

/** lookMs is how often changes by other processes are looked for, in milliseconds. */
const lookMs = 50;
/** tellMs is how long a worker that changes something waits for the others at most, in milliseconds. */
const tellMs = 250;

export function createTellState({ version, trouble }: StateSource) {
  const channels = new Set<Channel>();
  const current = (): DatabaseState => ({ version: version(), trouble: trouble() ?? null });
  let told = current();
  let telling: Promise<void> | undefined;

  /** Tells all, and resolves when those that answer in time know. */
  function tell(state: DatabaseState): Promise<void> {
    told = state;
    telling = tellAll(state);
    return telling;
  }

  async function tellAll(state: DatabaseState): Promise<void> {
    const asked = [...channels].map((one) => one.by<LedgerQuestions>().ask("database.state", state));
    const waiting = new AbortController();
    await Promise.race([Promise.allSettled(asked), delay(tellMs, undefined, waiting).catch(() => {})]);
    waiting.abort();
  }

  const timer = setInterval(() => {
    const now = current();
    if (now.version !== told.version || now.trouble !== told.trouble) void tell(now);
  }, lookMs).unref();
  return {
    serve(channel: Channel): void {
      channel.answer<Pick<BooksQuestions, "database.watch" | "database.changed">>({
        "database.watch"() {
          channels.add(channel);
          void channel.closed.then(() => channels.delete(channel));
          return current();
        },
        "database.changed"() {
          const now = current();
          return now.version === told.version ? telling : tell(now);
        },
      });
    },
    close: () => clearInterval(timer),
  };
}
