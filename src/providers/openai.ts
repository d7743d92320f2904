/**
 * An upstream that speaks the OpenAI API over HTTP: OpenAI itself, and everything compatible with it.
 *
 * The request goes on as it came, with only `model` replaced and, on streams, the usage asked for: it is hidden
 * again from callers who did not ask. An answer's bytes and a stream's frames are passed on untouched. What the
 * upstream refuses reaches the caller as `upstream-error.ts` says.
 */
import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import type { Answer, Frames } from "../call.ts";
import { Refusal, upstreamFailed, upstreamRefused } from "../errors.ts";
import { SseReader } from "../wire/sse.ts";
import { Wire } from "../wire/wire.ts";
import { type Operation, operations } from "./operations.ts";
import type { Attempt, Provider } from "./provider.ts";
import { createUpstream, readWhole, type UpstreamReply } from "./upstream.ts";
import { errorWords, refusalOfAnswer } from "./upstream-error.ts";

const paths: Readonly<Partial<Record<Operation, string>>> = { chat: "/chat/completions" };
const spoken = new Set(Object.keys(paths) as Operation[]);
const maxAnswerBytes = 64 * 1024 * 1024;
const maxErrorBytes = 64 * 1024;

export interface OpenAiOptions {
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
}

export function createOpenAiProvider({ baseUrl, apiKey }: OpenAiOptions): Provider {
  const upstream = createUpstream(baseUrl);
  const credential: Record<string, string> = apiKey ? { authorization: `Bearer ${apiKey}` } : {};
  return {
    speaks: spoken,
    async send(attempt) {
      const headers = {
        ...credential,
        "content-type": "application/json",
        accept: attempt.form === "stream" ? "text/event-stream" : "application/json",
        "user-agent": "model-gateway",
        "x-request-id": attempt.id,
      };
      const reply = await upstream.post(
        paths[attempt.operation] as string,
        headers,
        requestBody(attempt),
        attempt.signal,
      );
      if (reply.status !== 200) throw await refusalOf(reply);
      const desc = operations[attempt.operation][attempt.form];
      return attempt.form === "stream" ? streamAnswer(reply, desc, wantsUsage(attempt)) : wholeAnswer(reply, desc);
    },
    close: () => upstream.close(),
  };
}

function requestBody({ request, form, model }: Attempt): Buffer {
  const json = request.json();
  const stream = form === "stream";
  const changes: Record<string, JsonObject[string] | undefined> = {};
  if (json.model !== model) changes.model = model;
  if ((json.stream === true) !== stream) changes.stream = stream || undefined;
  if (stream) changes.stream_options = { ...(json.stream_options as JsonObject | null), include_usage: true };
  return (Object.keys(changes).length === 0 ? request : request.with(changes)).bytes();
}

function wantsUsage({ request }: Attempt): boolean {
  return (request.json().stream_options as JsonObject | null | undefined)?.include_usage === true;
}

async function wholeAnswer<O extends DescMessage>({ body }: UpstreamReply, desc: O): Promise<Answer<O>> {
  const answer = Wire.ofBytes(desc, await readWhole(body, maxAnswerBytes), true);
  refuseErrorIn(answer);
  return { kind: "whole", body: answer };
}

async function streamAnswer<O extends DescMessage>(
  { headers, body }: UpstreamReply,
  desc: O,
  usage: boolean,
): Promise<Answer<O>> {
  const type = String(headers["content-type"] ?? "");
  if (type.startsWith("text/event-stream")) return { kind: "stream", frames: readFrames(body, desc, usage) };
  refuseErrorIn(Wire.ofBytes(desc, await readWhole(body, maxErrorBytes), true));
  throw upstreamFailed("it did not answer with a stream");
}

/** Ends when the upstream says `[DONE]`, or after every choice's finish: some never say it. Any other end is a failure. */
async function* readFrames<O extends DescMessage>(body: UpstreamReply["body"], desc: O, usage: boolean): Frames<O> {
  const reader = new SseReader();
  const stream: StreamState = { done: false, finished: new Set(), unfinished: new Set() };
  for await (const chunks of body) {
    const batch: Wire<O>[] = [];
    try {
      for (const chunk of chunks) {
        for (const { data } of reader.push(chunk)) readFrame(data, desc, usage, stream, batch);
      }
    } catch (error) {
      stream.failure = failureOf(error);
    }
    // What came before a failure is the caller's.
    if (batch.length > 0) yield batch;
    if (stream.failure) throw stream.failure;
    if (stream.done) return;
  }
  const last: Wire<O>[] = [];
  try {
    for (const { data } of reader.end()) readFrame(data, desc, usage, stream, last);
  } catch (error) {
    throw failureOf(error);
  }
  if (last.length > 0) yield last;
  const complete = stream.done || (stream.finished.size > 0 && stream.unfinished.size === 0);
  if (!complete) throw upstreamFailed("it broke off its answer");
}

interface StreamState {
  /** `[DONE]` was read. */
  done: boolean;
  /** The choices, by index, that have ended. */
  readonly finished: Set<unknown>;
  readonly unfinished: Set<unknown>;
  failure?: Refusal;
}

function readFrame<O extends DescMessage>(
  data: Buffer,
  desc: O,
  usage: boolean,
  stream: StreamState,
  batch: Wire<O>[],
): void {
  if (stream.done || (data.length < 16 && data.toString().trim() === "[DONE]")) {
    stream.done = true;
    return;
  }
  const frame = Wire.ofBytes(desc, data, true);
  const json = refuseErrorIn(frame);
  const choices = (json.choices ?? []) as JsonObject[];
  for (const choice of choices) followChoice(choice, stream);
  // The usage was asked for by the gateway: a caller who did not ask sees neither it nor the nulls that announce it.
  if (usage || !("usage" in json)) batch.push(frame);
  else if (json.usage === null || choices.length > 0) batch.push(frame.with({ usage: undefined }));
}

function followChoice({ index, finish_reason = null }: JsonObject, { finished, unfinished }: StreamState): void {
  if (finish_reason !== null) {
    finished.add(index);
    unfinished.delete(index);
  } else if (!finished.has(index)) {
    unfinished.add(index);
  }
}

/** Returns the JSON, unless it is an error in the place of an answer: some upstreams send one with status 200. */
function refuseErrorIn(answer: Wire): JsonObject {
  let json: JsonObject;
  try {
    json = answer.json();
  } catch (error) {
    throw unreadable(error);
  }
  if ((json.error ?? null) === null || Array.isArray(json.choices)) return json;
  const words = errorWords(json);
  throw words ? upstreamRefused(502, words, answer.bytes(), {}) : upstreamFailed("it answered with an error");
}

function failureOf(error: unknown): Refusal {
  return error instanceof Refusal ? error : unreadable(error);
}

function unreadable(cause: unknown): Refusal {
  return upstreamFailed("its answer cannot be read", cause);
}

async function refusalOf({ status, headers, body }: UpstreamReply): Promise<Error> {
  const retryAfter = headers["retry-after"];
  return refusalOfAnswer({
    status,
    body: await readWhole(body, maxErrorBytes),
    retryAfter: typeof retryAfter === "string" ? retryAfter : undefined,
  });
}
