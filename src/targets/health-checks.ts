/**
 * Checks the health of upstreams at intervals, so that fewer calls find out by failing. An upstream is down after a number of
 * failures in a row, and up again after one success. Each change is reported once.
 */
import type { Targets } from "./targets.ts";

/** Checked is an upstream with health checks. */
export interface Checked {
  readonly upstream: string;
  readonly intervalMs: number;
  /** The number of failures in a row after which it is down. */
  readonly failures: number;
  readonly path: string;
  /** Requests the path once. Rejects where the upstream is not healthy. */
  readonly check: (path: string, signal: AbortSignal) => Promise<void>;
}

export interface HealthChecksOptions {
  readonly targets: Pick<Targets, "checked">;
  /** random returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  /** Called when an upstream goes down, with the last error, and when it is up again. */
  readonly onChanged: (upstream: string, isUp: boolean, error?: unknown) => void;
}

export interface HealthChecks {
  /** Checks these from now on. One that is checked as before goes on; what is known of the others is forgotten. */
  replace(checked: readonly Checked[]): void;
  /** Stops all checks, and waits for none. */
  close(): void;
}

/** The time-out of one check, in milliseconds. */
const timeoutMs = 5000;

/** startHealthChecks starts without any: `replace` says which. */
export function startHealthChecks(options: HealthChecksOptions): HealthChecks {
  let running: readonly { readonly one: Checked; readonly closing: AbortController }[] = [];
  return {
    replace(checked) {
      const before = running;
      running = checked.map((one) => {
        const same = before.find((other) => isAlike(other.one, one));
        if (same) return same;
        const closing = new AbortController();
        begin(one, options, closing.signal);
        return { one, closing };
      });
      for (const other of before) {
        if (running.includes(other)) continue;
        other.closing.abort();
        options.targets.checked(other.one.upstream, undefined);
      }
    },
    close() {
      for (const { closing } of running) closing.abort();
    },
  };
}

function isAlike(one: Checked, other: Checked): boolean {
  const keys = ["upstream", "intervalMs", "failures", "path", "check"] as const;
  return keys.every((key) => one[key] === other[key]);
}

/** begin begins the checks of one upstream. The first comes at a random moment of the interval, so that gateways do not check at once. */
function begin(
  { upstream, intervalMs, failures: maxFailures, path, check: ask }: Checked,
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
      await ask(path, AbortSignal.any([closing, AbortSignal.timeout(Math.min(timeoutMs, intervalMs))]));
      if (!closing.aborted) note();
    } catch (error) {
      if (!closing.aborted) note(error);
    }
    if (!closing.aborted) timer = setTimeout(check, intervalMs).unref();
  };
  let timer = setTimeout(check, random() * intervalMs).unref();
  closing.addEventListener("abort", () => clearTimeout(timer), { once: true });
}
