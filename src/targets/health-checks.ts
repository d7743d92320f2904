/**
 * Asks upstreams now and then whether they are well, so that calls find out no more than they must. One that fails so often
 * in a row is noted as down, and as up again by its first good answer; each change is told once.
 */
import type { Targets } from "./targets.ts";

/** An upstream that is asked. */
export interface Checked {
  readonly upstream: string;
  readonly intervalMs: number;
  /** After how many failures in a row it is down. */
  readonly failures: number;
  /** Throws where it is not well. */
  readonly ask: (signal: AbortSignal) => Promise<void>;
}

export interface HealthChecksOptions {
  readonly targets: Pick<Targets, "checked">;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  /** Told when an upstream goes down, with what failed last, and when it is up again. */
  readonly onChanged: (upstream: string, isUp: boolean, error?: unknown) => void;
}

export interface HealthChecks {
  /** Asks no more, and waits for nothing. */
  close(): void;
}

/** How long an answer is waited for at most. */
const longestMs = 5000;

export function startHealthChecks(checked: readonly Checked[], options: HealthChecksOptions): HealthChecks {
  const closing = new AbortController();
  for (const one of checked) begin(one, options, closing.signal);
  return { close: () => closing.abort() };
}

/** The first check comes anywhere within the interval: gateways that start together do not ask together. */
function begin(
  { upstream, intervalMs, failures: most, ask }: Checked,
  options: HealthChecksOptions,
  closing: AbortSignal,
) {
  const { targets, random, onChanged } = options;
  let failures = 0;
  const note = (error?: unknown) => {
    const wasDown = failures >= most;
    failures = error === undefined ? 0 : failures + 1;
    const isDown = failures >= most;
    if (failures === 0 || isDown) targets.checked(upstream, !isDown);
    if (isDown !== wasDown) onChanged(upstream, !isDown, error);
  };
  const check = async () => {
    try {
      await ask(AbortSignal.any([closing, AbortSignal.timeout(Math.min(longestMs, intervalMs))]));
      note();
    } catch (error) {
      if (!closing.aborted) note(error);
    }
    if (!closing.aborted) timer = setTimeout(check, intervalMs).unref();
  };
  let timer = setTimeout(check, random() * intervalMs).unref();
  closing.addEventListener("abort", () => clearTimeout(timer), { once: true });
}
