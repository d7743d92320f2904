/**
 * Speech by an upstream of OpenAI's dialect: bytes pass through as they come, with their media type. What is no audio
 * (`audio.ts`) is the upstream's failure, and not charged.
 *
 * The upstream is always asked for plain audio. The door decides whether the caller gets bytes or events.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { SpeechChunkSchema, SpeechSchema } from "../../../gen/modelgateway/v1/speech_pb.ts";
import type { Answer, Frames } from "../../call/call.ts";
import type { Fields } from "../../http1/client/index.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { Wire } from "../../wire/wire.ts";
import type { Attempt } from "../contract.ts";
import { type Dialect, unsetSettings } from "../dialect.ts";
import { mediaTypeOf } from "../frames/answer-form.ts";
import { ask, askWhole } from "../upstream/ask.ts";
import type { UpstreamReply } from "../upstream/reply.ts";
import { commonFields, forwardedHeaders } from "../upstream/speak.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { AudioReader } from "./audio.ts";
import { audioType } from "./audio-type.ts";

const maxAudioBytes = 256 * 1024 * 1024;

/** speakSpeech returns the function that speaks the operation. */
export function speakSpeech(upstream: Upstream, dialect: Dialect, credential: Readonly<Fields>, path: string) {
  const common = commonFields({ ...credential, accept: "application/octet-stream" });
  const spoken: Dialect = { ...dialect, common: { whole: common, stream: common }, body: requestBody };
  return (attempt: Attempt<"speech">): MaybePromise<Answer<typeof SpeechSchema | typeof SpeechChunkSchema>> => {
    const call = { upstream, dialect: spoken, path, attempt };
    return attempt.form === "whole"
      ? askWhole(call, maxAudioBytes, (bytes, reply) => wholeAudio(bytes, reply, attempt, dialect))
      : ask(call, (reply) => ({
          kind: "stream",
          frames: chunksOf(reply, attempt, dialect),
          ...forwardedHeaders(reply),
        }));
  };
}

function wholeAudio(
  bytes: Buffer,
  reply: UpstreamReply,
  { request }: Attempt<"speech">,
  dialect: Dialect,
): Answer<typeof SpeechSchema> {
  const reader = readerOf(reply, dialect);
  const pieces = [...reader.push(bytes), ...reader.end()];
  const audio = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  const contentType = audioType(audio, labelOf(reply), request.outline().response_format);
  const body = Wire.ofMessage(SpeechSchema, create(SpeechSchema, { contentType, audio }));
  return { kind: "whole", body, ...forwardedHeaders(reply) };
}

function readerOf(reply: UpstreamReply, dialect: Dialect): AudioReader {
  return new AudioReader(mediaTypeOf(reply), (json, bytes, place) => dialect.errorIn(json, bytes, "speech", place));
}

function requestBody({ request, model }: Attempt): Buffer {
  const json = request.json();
  const changes: Record<string, JsonValue | undefined> = unsetSettings(request.desc, json);
  if (json.model !== model) changes.model = model;
  if ("stream_format" in json) changes.stream_format = undefined;
  return (Object.keys(changes).length === 0 ? request : request.with(changes)).bytes();
}

async function* chunksOf(
  reply: UpstreamReply,
  { request, meter, room }: Attempt<"speech">,
  dialect: Dialect,
): Frames<typeof SpeechChunkSchema> {
  const reader = readerOf(reply, dialect);
  const held = room?.openAnswer();
  const label = labelOf(reply);
  const format = request.outline().response_format;
  let first = true;
  const chunks = (pieces: readonly Buffer[]) =>
    pieces.map((audio) => {
      const begun = first ? { contentType: audioType(audio, label, format), audio } : { audio };
      first = false;
      return chunk(begun);
    });
  for await (const batch of reply.body) {
    const bytes = batch.length === 1 ? (batch[0] as Buffer) : Buffer.concat(batch);
    await held?.hold(reader.heldBytes + bytes.length);
    const told = chunks(reader.push(bytes));
    if (told.length > 0) yield told;
    held?.tryHold(reader.heldBytes);
  }
  const rest = chunks(reader.end());
  if (rest.length > 0) yield rest;
  meter.reportEnd();
  // The upstream reports no usage: every code point of the input counts as a token.
  const inputTokens = [...(request.message().input ?? "")].length;
  yield [chunk({ usage: { inputTokens, outputTokens: 0, totalTokens: inputTokens } })];
}

function chunk(init: Parameters<typeof create<typeof SpeechChunkSchema>>[1]): Wire<typeof SpeechChunkSchema> {
  return Wire.ofMessage(SpeechChunkSchema, create(SpeechChunkSchema, init));
}

/** labelOf returns the media type of an answer with its parameters; undefined where none or several are named. */
function labelOf({ headers }: UpstreamReply): string | undefined {
  const type = headers["content-type"];
  return typeof type === "string" ? type : undefined;
}
