/**
 * Speech by an upstream of OpenAI's dialect: bytes pass through as they come, with the upstream's media type.
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
import type { Dialect } from "../dialect.ts";
import { ask, askWhole } from "../upstream/ask.ts";
import type { UpstreamReply } from "../upstream/reply.ts";
import { commonFields, forwardedHeaders } from "../upstream/speak.ts";
import type { Upstream } from "../upstream/upstream.ts";

const unknownType = "application/octet-stream";
const maxAudioBytes = 256 * 1024 * 1024;

/** speakSpeech returns the function that speaks the operation. */
export function speakSpeech(upstream: Upstream, dialect: Dialect, credential: Readonly<Fields>, path: string) {
  const common = commonFields({ ...credential, accept: "application/octet-stream" });
  const spoken: Dialect = { ...dialect, common: { whole: common, stream: common }, body: requestBody };
  return (attempt: Attempt<"speech">): MaybePromise<Answer<typeof SpeechSchema | typeof SpeechChunkSchema>> => {
    const call = { upstream, dialect: spoken, path, attempt };
    return attempt.form === "whole"
      ? askWhole(call, maxAudioBytes, wholeAudio)
      : ask(call, (reply) => ({ kind: "stream", frames: chunksOf(reply, attempt), ...forwardedHeaders(reply) }));
  };
}

function wholeAudio(audio: Buffer, reply: UpstreamReply): Answer<typeof SpeechSchema> {
  const body = Wire.ofMessage(SpeechSchema, create(SpeechSchema, { contentType: typeOf(reply) ?? unknownType, audio }));
  return { kind: "whole", body, ...forwardedHeaders(reply) };
}

function requestBody({ request, model }: Attempt): Buffer {
  const json = request.json();
  const changes: Record<string, JsonValue | undefined> = {};
  if (json.model !== model) changes.model = model;
  if ("stream_format" in json) changes.stream_format = undefined;
  return (Object.keys(changes).length === 0 ? request : request.with(changes)).bytes();
}

async function* chunksOf(
  reply: UpstreamReply,
  { request, meter }: Attempt<"speech">,
): Frames<typeof SpeechChunkSchema> {
  const contentType = typeOf(reply) ?? unknownType;
  let first = true;
  for await (const chunks of reply.body) {
    const audio = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
    yield [chunk(first ? { contentType, audio } : { audio })];
    first = false;
  }
  meter.reportEnd();
  // The upstream reports no usage: every code point of the input counts as a token.
  const inputTokens = [...(request.message().input ?? "")].length;
  yield [chunk({ usage: { inputTokens, outputTokens: 0, totalTokens: inputTokens } })];
}

function chunk(init: Parameters<typeof create<typeof SpeechChunkSchema>>[1]): Wire<typeof SpeechChunkSchema> {
  return Wire.ofMessage(SpeechChunkSchema, create(SpeechChunkSchema, init));
}

/** typeOf returns the media type of an answer; undefined where none or several are named. */
function typeOf({ headers }: UpstreamReply): string | undefined {
  const type = headers["content-type"];
  return typeof type === "string" ? type : undefined;
}
