/** Starts the canary's process, and asks it what it saw. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

export type CanaryOrder = ({ readonly what: "call" } & Called) | { readonly what: "pause" | "report" };

/** Called is what a canary calls. */
export interface Called {
  /** The gateway's process, and its port. */
  readonly pid: number;
  readonly port: number;
  /** The port of the upstream. */
  readonly upstream: number;
  readonly key: string;
}

/** What a canary saw since it was last asked. */
export interface CanaryReport {
  /** How long each call took, in milliseconds. */
  readonly samples: readonly number[];
  /**
   * How long each took less the time in which the gateway was ready and had no core, or the canary was not let run: that is the machine's,
   * whose cores the attackers share. In milliseconds.
   */
  readonly own: readonly number[];
  /** How long the same calls of the upstream itself took. */
  readonly direct: readonly number[];
  readonly errors: readonly string[];
  /** How much later than due a call was made at worst: the machine was too busy for the canary itself. */
  readonly lateMs: number;
}

export interface Canary {
  /** Calls until it is paused. */
  call(called: Called): Promise<void>;
  report(): Promise<CanaryReport>;
  /** Stops calling, waits for what runs, closes its connections, and reports. */
  pause(): Promise<CanaryReport>;
  close(): Promise<void>;
}

export function startCanary(): Canary {
  const child = fork(join(import.meta.dirname, "canary-process.ts"), { serialization: "advanced" });
  const order = async (message: CanaryOrder): Promise<CanaryReport> => {
    const reported = once(child, "message");
    child.send(message);
    const [report] = await reported;
    return report as CanaryReport;
  };
  return {
    call: async (called) => void (await order({ what: "call", ...called })),
    report: () => order({ what: "report" }),
    pause: () => order({ what: "pause" }),
    close: () => endChild(child),
  };
}

/** Ends a child of ours, by its id. */
export async function endChild(child: ChildProcess, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}
