/**
 * A speech request → a job. Refuses what these models cannot do.
 *
 * The default format is MP3, and the default speed 1. `instructions` have no effect.
 */
import { type CreateSpeechRequest, SpeechFormat } from "../../../gen/modelgateway/v1/speech_pb.ts";
import { invalidValue, missingField, modelNotFound } from "../../call/refusals.ts";
import { type Format, type Job, type Quality, type VoiceName, voiceNames } from "./job.ts";

const qualities = new Map<string, Quality>([
  ["tts-1", "standard"],
  ["tts-1-hd", "high"],
]);

export function isSpeechModel(model: string): boolean {
  return qualities.has(model);
}

const formats: Readonly<Record<SpeechFormat, Format>> = {
  [SpeechFormat.UNSPECIFIED]: "mp3",
  [SpeechFormat.MP3]: "mp3",
  [SpeechFormat.OPUS]: "opus",
  [SpeechFormat.AAC]: "aac",
  [SpeechFormat.FLAC]: "flac",
  [SpeechFormat.WAV]: "wav",
  [SpeechFormat.PCM]: "pcm",
};

export const contentTypes: Readonly<Record<Format, string>> = {
  mp3: "audio/mpeg",
  opus: "audio/opus",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
};

export function jobOf(request: CreateSpeechRequest, model: string): Job {
  const quality = qualities.get(model);
  if (!quality) throw modelNotFound(model);
  return {
    text: request.input ?? "",
    voice: voiceOf(request.voice),
    speed: request.speed ?? 1,
    format: formatOf(request),
    quality,
  };
}

function formatOf({ responseFormat: named = SpeechFormat.UNSPECIFIED, extra = {} }: CreateSpeechRequest): Format {
  const { response_format: other } = extra;
  const format = formats[named];
  if (!format || typeof other === "string")
    throw invalidValue("response_format", `this model has the formats ${Object.keys(contentTypes).join(", ")}`);
  return format;
}

function voiceOf(voice: CreateSpeechRequest["voice"]): VoiceName {
  if (voice.case === undefined) throw missingField("voice");
  const known = voiceNames.find((name) => name === voice.value);
  if (!known) throw invalidValue("voice", `this model has the voices ${voiceNames.join(", ")}`);
  return known;
}
