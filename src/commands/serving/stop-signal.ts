/** Waits for the signal that asks a process to stop. */
import { createIsTerminalClosed } from "./terminal.ts";

/** echoMs: one Ctrl-C may arrive several times, from the terminal, from npm, and from `bin/model-gateway.js`. */
export const echoMs = 500;

/**
 * stopSignal resolves at the first signal. Another signal more than `echoMs` later ends the process at once. SIGHUP is such a signal only
 * where it says that the terminal was closed: running calls are completed then, too. Else `onHangUp` is called.
 */
export function stopSignal(onHangUp: () => void): Promise<void> {
  const isTerminalClosed = createIsTerminalClosed();
  return new Promise((resolve) => {
    let asked: number | undefined;
    const onSignal = () => {
      if (asked !== undefined && performance.now() - asked > echoMs) process.exit(1);
      asked ??= performance.now();
      resolve();
    };
    process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
    process.on("SIGHUP", () => (isTerminalClosed() ? onSignal() : onHangUp()));
  });
}
