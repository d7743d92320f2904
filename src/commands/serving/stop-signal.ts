/** Waits for the signal that asks a process to stop. */
import { createIsTerminalClosed } from "./terminal.ts";

/** echoMs: one Ctrl-C may arrive several times, from the terminal, from npm, and from `bin/model-gateway.js`. */
const echoMs = 500;

/**
 * createStopRequest returns what is called for each signal that asks to stop. The first calls `onFirst`. One that comes more than `echoMs`
 * after it is another request, and calls `onAgain`; a sooner one is an echo.
 */
export function createStopRequest(onFirst: () => void, onAgain: () => void): () => void {
  let isAsked = false;
  let isOver = false;
  // setImmediate lets the event loop read first the signals that arrived while it was busy.
  const end = () => setImmediate(() => (isOver = true));
  return () => {
    if (isOver) return onAgain();
    if (isAsked) return;
    isAsked = true;
    setTimeout(end, echoMs).unref();
    onFirst();
  };
}

/**
 * stopSignal resolves at the first signal. Another request to stop ends the process at once. SIGHUP is such a signal only where it says that
 * the terminal was closed: running calls are completed then, too. Else `onHangUp` is called.
 */
export function stopSignal(onHangUp: () => void): Promise<void> {
  const isTerminalClosed = createIsTerminalClosed();
  return new Promise((resolve) => {
    const onSignal = createStopRequest(resolve, () => process.exit(1));
    process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
    process.on("SIGHUP", () => (isTerminalClosed() ? onSignal() : onHangUp()));
  });
}
