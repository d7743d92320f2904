/**
 * Checks the health of upstreams at intervals, so that fewer calls find out by failing. An upstream is down after a number of
 * failures in a row, and up again after one success. Each change is reported once.
 */
import type { Targets } from "./targets.ts";

/** An upstream with health checks. */
export interface Checked {
  readonly upstream: string;
  readonly intervalMs: number;
  /** The number of failures in a row after which it is down. */
  readonly failures: number;
  /** Sends one check. Rejects where the upstream is not healthy. */
  readonly ask: (signal: AbortSignal) => Promise<void>;
}

export interface HealthChecksOptions {
  readonly targets: Pick<Targets, "checked">;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  /** Called when an upstream goes down, with the last error, and when it is up again. */
  readonly onChanged: (upstream: string, isUp: boolean, error?: unknown) => void;
}

export interface HealthChecks {
  /** Stops all checks, and waits for none. */
  close(): void;
}

/** The time-out of one check, in milliseconds. */
const timeoutMs = 5000;

export function startHealthChecks(checked: readonly Checked[], options: HealthChecksOptions): HealthChecks {
  const closing = new AbortController();
  for (const one of checked) begin(one, options, closing.signal);
  return { close: () => closing.abort() };
}

/** Begins the checks of one upstream. The first comes at a random moment of the interval, so that gateways do not check at once. */
function begin(
  { upstream, intervalMs, failures: maxFailures, ask }: Checked,
  options: HealthChecksOptions,
  closing: AbortSignal,
) {
  const { targets, random, onChanged } = options;
  let failures = 0;
  const note = (error?: unknown) => {
    const wasDown = failures >= maxFailures;
    failures = error === undefined ? 0 : failures + 1;
    const isDown = failures >= maxFailures;
    if (failures === 0 || isDown) targets.checked(upstream, !isDown);
    if (isDown !== wasDown) onChanged(upstream, !isDown, error);
  };
  const check = async () => {
    try {
      await ask(AbortSignal.any([closing, AbortSignal.timeout(Math.min(timeoutMs, intervalMs))]));
      note();
    } catch (error) {
      if (!closing.aborted) note(error);
    }
    if (!closing.aborted) timer = setTimeout(check, intervalMs).unref();
  };
  let timer = setTimeout(check, random() * intervalMs).unref();
  closing.addEventListener("abort", () => clearTimeout(timer), { once: true });
}
