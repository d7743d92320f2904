/**
 * The dialect of OpenAI and of everything compatible with it.
 *
 * In a request only `model` is replaced and, on streams, the usage asked for: it is hidden again from callers who
 * did not ask. What the upstream refuses reaches the caller as `upstream-error.ts` says.
 */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { longJson } from "../wire/json.ts";
import { Wire } from "../wire/wire.ts";
import { chatTakesOf } from "./chat-takes.ts";
import { checkOver, commonFields, type Dialect, type Follower, speakOver } from "./dialect.ts";
import { createAlikeReader } from "./openai-alike.ts";
import { speakSpeech } from "./openai-speech.ts";
import { meterAnswer, meterChoice, tellUsage } from "./openai-usage.ts";
import type { Attempt, Meter, Provider, Speak } from "./provider.ts";
import type { Timeouts } from "./timeouts.ts";
import { createUpstream } from "./upstream.ts";
import { refusalOfAnswer, refusalOfErrorIn } from "./upstream-error.ts";

export interface OpenAiOptions {
  /** With the version: `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly timeouts?: Timeouts;
}

export function createOpenAiProvider({ baseUrl, apiKey, timeouts }: OpenAiOptions): Provider {
  const upstream = createUpstream(baseUrl, timeouts);
  const credential: Record<string, string> = apiKey ? { authorization: `Bearer ${apiKey}` } : {};
  const dialect = openAiDialect(credential);
  return {
    kind: "openai",
    takes: chatTakesOf(baseUrl),
    speaks: {
      chat: speakOver(upstream, dialect, "/chat/completions"),
      completions: speakOver(upstream, dialect, "/completions"),
      embeddings: speakOver(upstream, dialect, "/embeddings"),
      // The form of the answer follows the attempt's, which types cannot say of a branch.
      speech: speakSpeech(upstream, dialect, credential) as Speak<"speech">,
    },
    check: checkOver(upstream, credential),
    close: () => upstream.close(),
  };
}

function openAiDialect(credential: Record<string, string>): Dialect {
  return {
    common: {
      whole: commonFields({ ...credential, accept: "application/json" }),
      stream: commonFields({ ...credential, accept: "text/event-stream" }),
    },
    body: requestBody,
    refusal: refusalOfAnswer,
    errorIn(json, bytes) {
      const isError = (json.error ?? null) !== null && !Array.isArray(json.choices);
      return isError ? refusalOfErrorIn(json, bytes) : undefined;
    },
    measure: meterAnswer,
    follow: ({ request, meter }) => followChunks(wantsUsage(request.outline()), meter),
  };
}

function requestBody({ request, form, model }: Attempt): Buffer {
  const json = request.outline();
  const isStream = form === "stream";
  const lacksUsage = isStream && !wantsUsage(json);
  if (json.model === model && (json.stream === true) === isStream && !lacksUsage) return request.bytes();
  const changes: Record<string, JsonValue | undefined> = {};
  if (json.model !== model) changes.model = model;
  if ((json.stream === true) !== isStream) changes.stream = isStream || undefined;
  if (lacksUsage) changes.stream_options = { ...(json.stream_options as JsonObject | null), include_usage: true };
  return request.with(changes).bytes();
}

function wantsUsage({ stream_options }: JsonObject): boolean {
  return (stream_options as JsonObject | null | undefined)?.include_usage === true;
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Of `[DONE]` with the space that may stand around it: what is longer is not looked at. In bytes. */
const longestDone = 15;

/** A stream ends with `[DONE]`; some upstreams never say it, and then it may end once every choice has finished. */
function followChunks(usageWanted: boolean, meter: Meter): Follower {
  let done = false;
  /** Whether each choice has finished, by its index. */
  const choicesSeen = new Map<JsonValue | undefined, boolean>();
  const reader = createAlikeReader();
  const see = <O extends DescMessage>(frame: Wire<O>, json: JsonObject): Wire<O> | undefined => {
    // The gateway asked for the usage: who did not ask sees neither it nor the nulls that announce it.
    if (usageWanted || !("usage" in json)) return frame;
    if (json.usage === null) return withoutNullUsage(frame);
    return Array.isArray(json.choices) && json.choices.length > 0 ? frame.with({ usage: undefined }) : undefined;
  };
  return {
    isEnd(data) {
      done = data.length <= longestDone && data.toString().trim() === "[DONE]";
      return done;
    },
    isOver: () => done,
    skim(frame) {
      const said = reader.read(frame.bytes());
      if (!said) return undefined;
      if (said.text !== "") meter.wrote(said.text);
      const seen = said.frame ? Wire.ofFrame(frame.desc, said.frame) : frame;
      return seen.differingIn(said.plainText);
    },
    take(frame, json) {
      const choices = json.choices ?? [];
      if (!Array.isArray(choices)) throw new TypeError("`choices` is no list");
      for (const choice of choices) {
        if (!isObject(choice)) continue;
        const { index, finish_reason = null } = choice;
        meterChoice(choice, meter);
        if (finish_reason !== null) choicesSeen.set(index, true);
        else if (!choicesSeen.has(index)) choicesSeen.set(index, false);
      }
      if (json.usage) tellUsage(json.usage, meter);
      const seen = see(frame, json);
      // A long one is hardly like another.
      if (seen && frame.bytes().length < longJson) reader.learn(json, frame.bytes(), seen.bytes());
      return seen;
    },
    isComplete: () => choicesSeen.size > 0 && [...choicesSeen.values()].every((hasFinished) => hasFinished),
  };
}

const nullUsage = Buffer.from(',"usage":null');
const usageKey = nullUsage.subarray(1, -":null".length);

/** The gateway's wish for usage puts it into every chunk: it is cut out of the bytes, where they hold it once. */
function withoutNullUsage<O extends DescMessage>(frame: Wire<O>): Wire<O> {
  const bytes = frame.bytes();
  const at = bytes.lastIndexOf(usageKey) - 1;
  const end = at + nullUsage.length;
  const isOnly = at >= 0 && nullUsage.compare(bytes, at, end) === 0 && bytes.indexOf(usageKey) === at + 1;
  if (!isOnly) return frame.with({ usage: undefined });
  return Wire.ofBytes(frame.desc, Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]), true);
}
