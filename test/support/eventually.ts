/** Waits for what is to become true by itself, and says what was not true yet when it took too long. */
import { setTimeout as delay } from "node:timers/promises";

/** The default bounds what hangs, and times nothing: a busy machine takes ten seconds to start the thread that counts tokens. */
export async function eventually(check: () => unknown, withinMs = 40_000): Promise<void> {
  for (const until = performance.now() + withinMs; ; await delay(5)) {
    try {
      await check();
      return;
    } catch (error) {
      if (performance.now() > until) throw error;
    }
  }
}
