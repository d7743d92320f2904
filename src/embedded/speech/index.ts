/**
 * The embedded speech models `tts-1` and `tts-1-hd`: real speech and real encoders, in a worker thread.
 *
 * Audio is sent while the rest is still spoken. The same request gives the same bytes. `docs/embedded-speech.md`
 * describes the voices and formats.
 */
import { create } from "@bufbuild/protobuf";
import { SpeechChunkSchema, SpeechSchema, SpeechUsageSchema } from "../../../gen/modelgateway/v1/speech_pb.ts";
import type { Answer } from "../../call/call.ts";
import type { Form, Output } from "../../call/operations.ts";
import type { Attempt, Meter } from "../../providers/contract.ts";
import { Wire } from "../../wire/wire.ts";
import type { Job } from "./job.ts";
import { contentTypes, jobOf } from "./request.ts";
import { createScheduler, type SchedulerOptions } from "./scheduler.ts";
import { finish } from "./synthesis/finish.ts";

export { isSpeechModel } from "./request.ts";

export interface Speech {
  speak(attempt: Attempt<"speech">): Promise<Answer<Output<"speech", Form>>>;
  /**
   * Starts the worker and loads what the first request needs. Rejects where that fails, or where the worker is closed
   * meanwhile.
   */
  warm(): Promise<void>;
  /** Waits for running jobs, then ends the worker. */
  close(): Promise<void>;
}

/** A job whose audio is discarded. It loads the voices and the encoder of the default format. */
const warmUp: Job = {
  text: "It is 7 o'clock, and all is well.",
  voice: "alloy",
  speed: 1,
  format: "mp3",
  quality: "standard",
};

type Sound = AsyncGenerator<Uint8Array, number>;
type Chunk = Wire<typeof SpeechChunkSchema>;

export function createSpeech(options: SchedulerOptions = {}): Speech {
  const scheduler = createScheduler(options);
  const closing = new AbortController();
  return {
    async speak({ request, model, form, signal, meter }) {
      const job = jobOf(request.message(), model);
      const sound = scheduler.perform(job, signal);
      if (form === "stream") return { kind: "stream", frames: chunksOf(sound, job, meter) };
      return { kind: "whole", body: await wholeOf(sound, job) };
    },
    async warm() {
      for await (const piece of scheduler.perform(warmUp, closing.signal)) void piece;
    },
    close() {
      closing.abort();
      return scheduler.close();
    },
  };
}

async function wholeOf(sound: Sound, { format }: Job): Promise<Wire<typeof SpeechSchema>> {
  const pieces: Uint8Array[] = [];
  let next = await sound.next();
  for (; !next.done; next = await sound.next()) pieces.push(next.value);
  const audio = Buffer.concat(pieces);
  finish(audio, format, next.value);
  return Wire.ofMessage(SpeechSchema, create(SpeechSchema, { contentType: contentTypes[format], audio }));
}

async function* chunksOf(sound: Sound, { format, text }: Job, meter: Meter): AsyncGenerator<readonly Chunk[]> {
  let contentType: string | undefined = contentTypes[format];
  for await (const audio of sound) {
    yield [chunk({ audio, ...(contentType ? { contentType } : {}) })];
    contentType = undefined;
  }
  meter.reportEnd();
  const characters = [...text].length;
  const usage = create(SpeechUsageSchema, { inputTokens: characters, outputTokens: 0, totalTokens: characters });
  yield [chunk({ usage })];
}

function chunk(init: Parameters<typeof create<typeof SpeechChunkSchema>>[1] & object): Chunk {
  return Wire.ofMessage(SpeechChunkSchema, create(SpeechChunkSchema, init));
}
