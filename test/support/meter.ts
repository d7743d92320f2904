/**
 * A meter that keeps what it is told, for tests that ask a provider by itself.
 *
 *   const meter = recordingMeter();
 *   …ask the provider…
 *   expect(meter.kept).toEqual({ used: { input: 9, … }, text: "Hello", hasGivenUp: false, hasEnded: true });
 */
import type { Meter, Usage } from "../../src/providers/provider.ts";

export interface RecordingMeter extends Meter {
  readonly kept: {
    /** The last that was told of each part. */
    used: Partial<Usage>;
    text: string;
    hasGivenUp: boolean;
    hasEnded: boolean;
  };
}

export function recordingMeter(): RecordingMeter {
  const kept: RecordingMeter["kept"] = { used: {}, text: "", hasGivenUp: false, hasEnded: false };
  return {
    kept,
    told(usage) {
      kept.used = { ...kept.used, ...usage };
    },
    wrote(text) {
      kept.text += text;
    },
    gaveUp() {
      kept.hasGivenUp = true;
    },
    ended() {
      kept.hasEnded = true;
    },
  };
}
