/**
 * A meter that keeps what it is told, for tests that ask a provider by itself.
 *
 *   const meter = recordingMeter();
 *   …ask the provider…
 *   expect(meter.kept).toEqual({ used: { input: 9, … }, text: "Hello", hasGivenUp: false, hasEnded: true });
 */
import type { AttemptRecord } from "../../src/call/call-record.ts";
import type { ToldUsage } from "../../src/call/usage.ts";
import type { Attempt, Meter } from "../../src/providers/contract.ts";

export interface RecordingMeter extends Meter {
  readonly kept: {
    /** The last that was told of each part. */
    used: Omit<ToldUsage, "manner">;
    text: string;
    hasGivenUp: boolean;
    hasEnded: boolean;
  };
}

export function recordingMeter(): RecordingMeter {
  const kept: RecordingMeter["kept"] = { used: {}, text: "", hasGivenUp: false, hasEnded: false };
  return {
    kept,
    reportUsage({ manner, ...usage }) {
      const told = Object.entries(usage).filter(([, count]) => count !== undefined);
      kept.used = { ...kept.used, ...Object.fromEntries(told) };
    },
    countText(text) {
      kept.text += text;
    },
    reportGivenUp() {
      kept.hasGivenUp = true;
    },
    reportEnd() {
      kept.hasEnded = true;
    },
  };
}

/** Returns what an attempt is told besides the request, where a test asks for nothing of it. */
export function unbounded(): Pick<Attempt, "traceHeaders" | "timeouts" | "priority" | "record"> {
  return { traceHeaders: {}, timeouts: {}, priority: 0, record: attemptFacts() };
}

/** The facts of an attempt of which nothing is known yet. */
export function attemptFacts(): AttemptRecord {
  return { upstream: "far", kind: "openai", model: "m", modelId: "m", begunAt: 0, sentAt: 0, queuedMs: 0, waitedMs: 0 };
}
