/**
 * Watches whether a server answers while a move waits for statements that take as long as they take. One that is frozen, or behind a network
 * that drops everything, ends the move in one line; without that it would wait for good.
 */
import { AwayError } from "../errors.ts";
import type { Server, Session } from "../session.ts";
import { within } from "../silence.ts";

/** The time between two questions, and how long the server may take to answer one, in milliseconds. */
const [everyMs, maxSilentMs] = [5000, 30_000];

export interface WatchOptions {
  readonly everyMs?: number;
  readonly maxSilentMs?: number;
}

/** watchServer calls `onSilent` once, with what is known of it. Returns what ends the watch. */
export function watchServer(
  server: Pick<Server, "connect">,
  onSilent: (error: AwayError) => void,
  options: WatchOptions = {},
): () => void {
  const bounds = { everyMs, maxSilentMs, ...options };
  let session: Session | undefined;
  let isEnded = false;

  async function ask(): Promise<void> {
    if (session?.isOpen() !== true) {
      const opened = await server.connect();
      if (isEnded) return opened.close();
      session = opened;
    }
    await session.query("SELECT 1");
  }

  async function watch(): Promise<void> {
    while (!isEnded) {
      try {
        await within(ask(), bounds.maxSilentMs, () => isEnded);
      } catch (error) {
        // A connection that breaks has broken those of the move as well, which say so.
        if (error instanceof AwayError && !isEnded) {
          end();
          onSilent(error);
        }
      }
      await new Promise((resolve) => setTimeout(resolve, bounds.everyMs).unref());
    }
  }

  function end(): void {
    isEnded = true;
    session?.close();
  }

  void watch();
  return end;
}
