/**
 * The dialect of OpenAI and of everything compatible with it.
 *
 * In a request only `model` is replaced and, on streams, the usage asked for: it is hidden again from callers who
 * did not ask. What the upstream refuses reaches the caller as `upstream-error.ts` says.
 */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { longJson } from "../wire/json.ts";
import { Wire } from "../wire/wire.ts";
import { ChatCounts } from "./chat-counts.ts";
import { checkOver, commonFields, type Dialect, type Follower, lowerCased, secretsOf, speakOver } from "./dialect.ts";
import { createHide, type Hide } from "./hidden-words.ts";
import { createAlikeReader } from "./openai-alike.ts";
import { speakSpeech } from "./openai-speech.ts";
import { meterAnswer, meterChoice } from "./openai-usage.ts";
import { fittingOf } from "./profile/fit.ts";
import { createProfile, type Profile } from "./profile/profile.ts";
import type { Attempt, Meter, Provider, Speak } from "./provider.ts";
import type { Timeouts } from "./timeouts.ts";
import { createUpstream } from "./upstream.ts";
import { openAiErrors, refusalOfAnswer, refusalOfErrorIn } from "./upstream-error.ts";

export interface OpenAiOptions {
  /** With the version: `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  /** The header that the key goes into. Default: `authorization`, as a bearer's. */
  readonly credential?: string | undefined;
  /** What else each request has. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** What the server takes. Default: nobody knows. */
  readonly profile?: Profile;
  readonly timeouts?: Timeouts;
}

export function createOpenAiProvider(options: OpenAiOptions): Provider {
  const { baseUrl, apiKey, timeouts, query, profile = createProfile({}) } = options;
  const upstream = createUpstream(baseUrl, timeouts, query);
  const credential = { ...lowerCased(options.headers), ...credentialOf(apiKey, options.credential) };
  const hide = createHide(baseUrl, secretsOf(apiKey, options.headers, query));
  const dialect = openAiDialect(credential, hide, (model) => profile.of(model).stated.include_usage !== false);
  const served = {
    chat: (path: string) => speakOver(upstream, dialect, path),
    completions: (path: string) => speakOver(upstream, dialect, path),
    embeddings: (path: string) => speakOver(upstream, dialect, path),
    // The form of the answer follows the attempt's, which types cannot say of a branch.
    speech: (path: string) => speakSpeech(upstream, dialect, credential, path) as Speak<"speech">,
  } as const;
  const speaks = Object.entries(served).flatMap(([operation, speak]) => {
    const path = profile.pathOf(operation as keyof typeof served);
    return path === undefined ? [] : [[operation, speak(path)]];
  });
  return {
    kind: "openai",
    speaks: Object.fromEntries(speaks) as Provider["speaks"],
    fitting: (model, reasons) => fittingOf(profile.of(model), reasons),
    check: checkOver(upstream, credential),
    close: () => upstream.close(),
  };
}

function credentialOf(apiKey: string | undefined, header: string | undefined): Record<string, string> {
  if (!apiKey) return {};
  return header === undefined ? { authorization: `Bearer ${apiKey}` } : { [header.toLowerCase()]: apiKey };
}

function openAiDialect(
  credential: Record<string, string>,
  hide: Hide,
  tellsUsage: (model: string) => boolean,
): Dialect {
  const errors = openAiErrors(hide);
  return {
    common: {
      whole: commonFields({ ...credential, accept: "application/json" }),
      stream: commonFields({ ...credential, accept: "text/event-stream" }),
    },
    body: (attempt) => requestBody(attempt, tellsUsage(attempt.model)),
    refusal: (error) => refusalOfAnswer(error, errors),
    errorIn(json, bytes) {
      const isError = (json.error ?? null) !== null && !Array.isArray(json.choices);
      return isError ? refusalOfErrorIn(json, bytes, errors) : undefined;
    },
    measure: meterAnswer,
    follow: ({ request, meter }) => followChunks(wantsUsage(request.outline()), meter),
  };
}

function requestBody({ request, form, model }: Attempt, tellsUsage: boolean): Buffer {
  const json = request.outline();
  const isStream = form === "stream";
  const lacksUsage = isStream && tellsUsage && !wantsUsage(json);
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
  const counts = new ChatCounts();
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
      if (counts.take(json)) meter.told(counts.told);
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
