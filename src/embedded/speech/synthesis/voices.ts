/**
 * The six voices: three speakers of Flite, turned into six by pitch and by the length of the vocal tract.
 *
 * `tract` below 1 is a longer tract: all resonances are lower, as of a larger person. The speech is played slower to achieve that; its duration and pitch are corrected by asking Flite for shorter and higher speech.
 */
import type { VoiceName } from "../job.ts";

export interface Voice {
  /** The speaker's name in Flite. All of them speak at 16 kHz. */
  readonly speaker: "slt" | "rms" | "awb";
  /** The factor of all resonances; of the pitch, too, where `pitch` has no effect. */
  readonly tract: number;
  /** The factor of the pitch. The speaker rms has no such control, so there it equals `tract`. */
  readonly pitch: number;
  /** Brings all speakers to the same loudness. */
  readonly gain: number;
}

export const voices: Readonly<Record<VoiceName, Voice>> = {
  alloy: { speaker: "slt", tract: 0.9, pitch: 0.9, gain: 0.85 },
  echo: { speaker: "rms", tract: 1, pitch: 1, gain: 1.5 },
  fable: { speaker: "awb", tract: 1, pitch: 1, gain: 1.2 },
  onyx: { speaker: "rms", tract: 0.84, pitch: 0.84, gain: 1.5 },
  nova: { speaker: "slt", tract: 1.02, pitch: 1.08, gain: 0.8 },
  shimmer: { speaker: "slt", tract: 1.15, pitch: 1.4, gain: 0.7 },
};
