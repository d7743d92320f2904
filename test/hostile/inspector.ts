/**
 * Has a Node process collect all its garbage, through its inspector, which opens when it gets SIGUSR1. Only so can what is
 * held be told from what nobody has yet needed the room of.
 */
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

/** Both are over sooner, except on a machine that does much else. */
const openMs = 30_000;
const collectMs = 30_000;

/** `errors` returns what the process has written to its standard error: it tells there where it listens. Never throws. */
export async function collectGarbage(pid: number, errors: () => string): Promise<void> {
  const url = await inspectorOf(pid, errors);
  if (url === undefined) return;
  const socket = new WebSocket(url);
  try {
    const signal = AbortSignal.timeout(collectMs);
    await once(socket, "open", { signal });
    for (let id = 1; id <= 2; id++) {
      const answered = once(socket, "message", { signal });
      socket.send(JSON.stringify({ id, method: "HeapProfiler.collectGarbage" }));
      await answered;
    }
  } catch {
    // It is too busy: its memory is what it is.
  } finally {
    socket.close();
  }
}

async function inspectorOf(pid: number, errors: () => string): Promise<string | undefined> {
  const pattern = /Debugger listening on (ws:\S+)/;
  if (!pattern.test(errors())) process.kill(pid, "SIGUSR1");
  for (const end = performance.now() + openMs; performance.now() < end; await delay(20)) {
    const url = pattern.exec(errors())?.[1];
    if (url !== undefined) return url;
  }
  return undefined;
}
