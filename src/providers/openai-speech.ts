/**
 * Speech by an upstream of OpenAI's dialect: the bytes are passed on as they come, under the upstream's media type.
 *
 * The upstream is always asked for bare audio. How the caller gets it, as bytes or as events, is settled at the edge.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { SpeechChunkSchema, SpeechSchema } from "../../gen/modelgateway/v1/speech_pb.ts";
import type { Answer, Frames } from "../call.ts";
import type { Fields } from "../http1/fields.ts";
import { Wire } from "../wire/wire.ts";
import { ask, commonFields, type Dialect, passedOn, waited } from "./dialect.ts";
import type { UpstreamReply } from "./exchange.ts";
import type { Attempt } from "./provider.ts";
import type { Upstream } from "./upstream.ts";
import { readWhole } from "./whole-body.ts";

const maxAudioBytes = 256 * 1024 * 1024;

/** Returns how to speak the operation. */
export function speakSpeech(upstream: Upstream, dialect: Dialect, credential: Readonly<Fields>) {
  const common = commonFields({ ...credential, accept: "application/octet-stream" });
  const spoken: Dialect = { ...dialect, common: { whole: common, stream: common }, body: requestBody };
  return (attempt: Attempt<"speech">) =>
    ask(upstream, spoken, "/audio/speech", attempt, (reply) => answerOf(reply, attempt));
}

async function answerOf(
  reply: UpstreamReply,
  attempt: Attempt<"speech">,
): Promise<Answer<typeof SpeechSchema | typeof SpeechChunkSchema>> {
  const contentType = String(reply.headers["content-type"] ?? "application/octet-stream");
  if (attempt.form === "stream") {
    return { kind: "stream", frames: chunksOf(reply, contentType, attempt), ...passedOn(reply) };
  }
  const audio = await waited(attempt.facts, readWhole(reply, maxAudioBytes));
  const body = Wire.ofMessage(SpeechSchema, create(SpeechSchema, { contentType, audio }));
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
  { body }: UpstreamReply,
  contentType: string,
  { request, meter }: Attempt<"speech">,
): Frames<typeof SpeechChunkSchema> {
  let first = true;
  for await (const chunks of body) {
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
