/** Waits for the signal that asks a process to stop. */

/** echoMs: one Ctrl-C may arrive several times, from the terminal, from npm, and from `bin/model-gateway.js`. */
export const echoMs = 500;

/** stopSignal resolves at the first signal. Another signal more than `echoMs` later ends the process at once. */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let asked: number | undefined;
    const onSignal = () => {
      if (asked !== undefined && performance.now() - asked > echoMs) process.exit(1);
      asked ??= performance.now();
      resolve();
    };
    // A closed terminal sends SIGHUP: running calls are completed then, too.
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, onSignal);
  });
}
