/**
 * Job is a request to the speech worker: plain data that can be sent to another thread.
 *
 * The same job always gives the same bytes. The scheduler relies on that: a job that lost its worker starts again,
 * and the bytes that were handed over already are skipped.
 */

export const voiceNames = ["alloy", "echo", "fable", "onyx", "nova", "shimmer"] as const;
export type VoiceName = (typeof voiceNames)[number];

export type Format = "mp3" | "opus" | "aac" | "flac" | "wav" | "pcm";

/** `standard` is `tts-1`, `high` is `tts-1-hd`. */
export type Quality = "standard" | "high";

export interface Job {
  readonly text: string;
  readonly voice: VoiceName;
  /** Speaking rate from 0.25 to 4; 1 is normal. */
  readonly speed: number;
  readonly format: Format;
  readonly quality: Quality;
}

/** Samples per second of all audio: one channel, 16 bit. */
export const sampleRate = 24_000;
