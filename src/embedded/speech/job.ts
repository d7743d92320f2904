/**
 * What is asked of the speech worker: plain data, so that it can be sent to another thread.
 *
 * The same job always gives the same bytes. The keeper of the worker builds on that: a job that lost its worker is
 * begun again, and what was handed over already is left out.
 */

export const voiceNames = ["alloy", "echo", "fable", "onyx", "nova", "shimmer"] as const;
export type VoiceName = (typeof voiceNames)[number];

export type Format = "mp3" | "opus" | "aac" | "flac" | "wav" | "pcm";

/** `standard` is `tts-1`, `high` is `tts-1-hd`. */
export type Quality = "standard" | "high";

export interface Job {
  readonly text: string;
  readonly voice: VoiceName;
  /** How fast it is spoken: 0.25 to 4, 1 is as usual. */
  readonly speed: number;
  readonly format: Format;
  readonly quality: Quality;
}

/** Samples a second of whatever is made: one channel, 16 bit. */
export const sampleRate = 24_000;
