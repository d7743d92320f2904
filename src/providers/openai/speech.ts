/**
 * Speech by an upstream of OpenAI's dialect: the bytes are passed on as they come, under the upstream's media type.
 *
 * The upstream is always asked for bare audio. How the caller gets it, as bytes or as events, is settled at the edge.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { SpeechChunkSchema, SpeechSchema } from "../../../gen/modelgateway/v1/speech_pb.ts";
import type { Answer, Frames } from "../../call/call.ts";
import type { Fields } from "../../http1/client/index.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { Wire } from "../../wire/wire.ts";
import type { Attempt } from "../contract.ts";
import { ask, askWhole } from "../upstream/ask.ts";
import { commonFields, type Dialect, passedOn } from "../upstream/dialect.ts";
import type { UpstreamReply } from "../upstream/reply.ts";
import type { Upstream } from "../upstream/upstream.ts";

const unknownType = "application/octet-stream";
const maxAudioBytes = 256 * 1024 * 1024;

/** Returns how to speak the operation. */
export function speakSpeech(upstream: Upstream, dialect: Dialect, credential: Readonly<Fields>, path: string) {
  const common = commonFields({ ...credential, accept: "application/octet-stream" });
  const spoken: Dialect = { ...dialect, common: { whole: common, stream: common }, body: requestBody };
  return (attempt: Attempt<"speech">): MaybePromise<Answer<typeof SpeechSchema | typeof SpeechChunkSchema>> => {
    const asking = { upstream, dialect: spoken, path, attempt };
    return attempt.form === "whole"
      ? askWhole(asking, maxAudioBytes, wholeAudio)
      : ask(asking, (reply) => ({ kind: "stream", frames: chunksOf(reply, attempt), ...passedOn(reply) }));
  };
}

function wholeAudio(audio: Buffer, reply: UpstreamReply): Answer<typeof SpeechSchema> {
  const body = Wire.ofMessage(SpeechSchema, create(SpeechSchema, { contentType: typeOf(reply) ?? unknownType, audio }));
  return { kind: "whole", body, ...passedOn(reply) };
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
  meter.ended();
  // The upstream does not count: every code point of the input stands for a token.
  const inputTokens = [...(request.message().input ?? "")].length;
  yield [chunk({ usage: { inputTokens, outputTokens: 0, totalTokens: inputTokens } })];
}

function chunk(init: Parameters<typeof create<typeof SpeechChunkSchema>>[1]): Wire<typeof SpeechChunkSchema> {
  return Wire.ofMessage(SpeechChunkSchema, create(SpeechChunkSchema, init));
}

/** Returns the media type of an answer; undefined where it names none, or several. */
function typeOf({ headers }: UpstreamReply): string | undefined {
  const type = headers["content-type"];
  return typeof type === "string" ? type : undefined;
}
