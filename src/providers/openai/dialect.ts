/**
 * The dialect of OpenAI and of everything compatible with it.
 *
 * In a request only `model` is replaced and, on streams, the usage asked for: it is hidden again from callers who
 * did not ask. What the upstream refuses reaches the caller as `upstream-error.ts` says.
 */

import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { credentialOf } from "../../config/catalogue/vendors.ts";
import type { CreateUpstreamClient } from "../../http1/client/index.ts";
import { isObject, longJson } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import { Wire } from "../../wire/wire.ts";
import type { Attempt, Provider, Speak } from "../contract.ts";
import { type Dialect, requestBody, type StreamTracker } from "../dialect.ts";
import { createRedact, type Redact } from "../errors/redact.ts";
import { openAiErrors, refusalOfAnswer, refusalOfErrorIn } from "../errors/upstream-error.ts";
import { chatIdOf, createHead } from "../frames/answer-head.ts";
import { done as endMark, isDone } from "../frames/done.ts";
import { SourcesOfStream } from "../frames/listed-sources.ts";
import { createChunkReader } from "../frames/native/chunks.ts";
import { idsOfChats } from "../own-ids/of-chats.ts";
import { idsOfResponses } from "../own-ids/of-responses.ts";
import { withOwnIds } from "../own-ids/own-ids.ts";
import { fittingOf } from "../profile/fit.ts";
import { createProfile, type Profile } from "../profile/profile.ts";
import { lowerCased } from "../upstream/lower-cased.ts";
import { checkOver, commonFields, credentialsIn, secretsOf, speakOver } from "../upstream/speak.ts";
import type { Timeouts } from "../upstream/timeouts.ts";
import { createUpstream } from "../upstream/upstream.ts";
import { ChatUsageReader } from "../usage/chat-counts.ts";
import { asksForUsage } from "../usage/write-usage.ts";
import { createChunkAccumulator } from "./accumulator.ts";
import { ChoiceTracker, RepeatedMessages } from "./choices.ts";
import type { TemplateReader } from "./delta-template.ts";
import { inBatches } from "./embeddings/batches.ts";
import { inTexts } from "./embeddings/texts.ts";
import { openAiFaults } from "./faults.ts";
import { chunksOfAnswer } from "./frames.ts";
import { LastEnds } from "./last-ends.ts";
import { responsesDialect } from "./responses.ts";
import { SearchCounter } from "./searches.ts";
import { speakSpeech } from "./speech.ts";
import { meterAnswer, meterChoice } from "./usage.ts";
import { changesOfAnswer, UsualChunks, usualTexts } from "./usual-choices.ts";

export interface OpenAiOptions {
  /** All keys of the upstream, among which calls take turns. Default: `apiKey`. */
  readonly apiKeys?: readonly string[] | undefined;
  /** With the version: `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  /** The header that the key goes into. Default: `authorization`, as a bearer's. */
  readonly credential?: string | undefined;
  /** Further headers of each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** Capabilities of the server. Default: unknown. */
  readonly profile?: Profile;
  readonly timeouts?: Timeouts;
  /** Creates the reader of chunks that differ in their text alone. Without one every chunk is parsed. */
  readonly createTemplateReader?: (() => TemplateReader) | undefined;
  /** Creates the HTTP client. Default: the one of `http1/client`. */
  readonly createClient?: CreateUpstreamClient | undefined;
}

export function createOpenAiProvider(options: OpenAiOptions): Provider {
  const { baseUrl, apiKey, headers, timeouts, query, createClient, profile = createProfile({}) } = options;
  const { apiKeys = apiKey === undefined ? [] : [apiKey] } = options;
  const upstream = createUpstream(baseUrl, timeouts, query, createClient);
  const credential = { ...lowerCased(headers), ...credentialOf(apiKey, options.credential) };
  const hide = createRedact(baseUrl, secretsOf(apiKey, headers, query));
  const dialect = openAiDialect(
    credential,
    hide,
    (model) => profile.of(model).stated.include_usage !== false,
    options.createTemplateReader,
  );
  const errors = openAiErrors(hide);
  const responding = responsesDialect(dialect, (json, bytes) => refusalOfErrorIn(json, bytes, errors));
  const secrets = credentialsIn(apiKeys, headers, query);
  const served = {
    responses: (path: string) => withOwnIds(speakOver(upstream, responding, path), secrets, idsOfResponses),
    chat: (path: string) => withOwnIds(speakOver(upstream, dialect, path), secrets, idsOfChats),
    completions: (path: string) => speakOver(upstream, dialect, path),
    embeddings: (path: string) => inTexts(inBatches(speakOver(upstream, dialect, path))),
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
    fitter: (model, reasons) => fittingOf(profile.of(model), reasons),
    check: checkOver(upstream, credential),
    close: () => upstream.close(),
  };
}

function openAiDialect(
  credential: Record<string, string>,
  hide: Redact,
  asksFor: (model: string) => boolean,
  createReader: OpenAiOptions["createTemplateReader"],
): Dialect {
  const errors = openAiErrors(hide);
  const errorIn = openAiFaults((json, bytes) => refusalOfErrorIn(json, bytes, errors));
  return {
    common: {
      whole: commonFields({ ...credential, accept: "application/json" }),
      stream: commonFields({ ...credential, accept: "text/event-stream" }),
    },
    body: (attempt) => requestBody(attempt, optionsFor(attempt, asksFor(attempt.model))),
    refusal: (error) => refusalOfAnswer(error, errors),
    errorIn,
    changes: changesOfAnswer,
    head: (json, attempt) => createHead("whole", attempt)(json),
    measure: meterAnswer,
    track: (attempt) =>
      withNativeChunks(attempt, withoutRepeats(attempt, trackChunks(attempt, createReader?.())), errorIn),
    framesOf: chunksOfAnswer,
    accumulator: createChunkAccumulator,
  };
}

/** optionsFor returns the changes to a request's stream options. `isAsked` is whether the server is asked for the usage of streams. */
function optionsFor({ request, form, asked = form, isUsageUnasked }: Attempt, isAsked: boolean): Changes {
  const json = request.outline();
  // A server that is not asked refuses to be. What the caller wants of its answer is read from the request as it was.
  // The options of a stream that is made of a whole answer are the gateway's to keep to.
  const isMade = form === "stream" && asked === "whole";
  if (!isAsked || isUsageUnasked || isMade)
    return json.stream_options === undefined ? {} : { stream_options: undefined };
  if (asked === "whole" || asksForUsage(json)) return {};
  // An outline may have other texts in it.
  const options = json.stream_options ? request.json().stream_options : undefined;
  return { stream_options: { ...(options as JsonObject | undefined), include_usage: true } };
}

/**
 * A stream ends with `[DONE]`. Some upstreams never say it, and then it may end once every choice has finished; some say nothing
 * but that, and then the choices are finished here.
 */
function trackChunks(attempt: Attempt, reader: TemplateReader | undefined): StreamTracker {
  const { form, operation, meter } = attempt;
  const asked = attempt.request.outline();
  const seesUsage = form === "whole" || asksForUsage(asked);
  let done = false;
  const seen = new ChoiceTracker(operation, asked);
  const counts = new ChatUsageReader();
  const searches = new SearchCounter();
  const ends = new LastEnds();
  const sources = operation === "chat" && seen.asked === 1 ? new SourcesOfStream() : undefined;
  const head = createHead("stream", attempt);
  const usual = operation === "chat" ? new UsualChunks(seen.asked, () => sources?.length ?? 0) : undefined;
  const rest = <O extends DescMessage>(desc: O) => lastFrames(desc, sources?.choice(), ends, seen.head, operation);
  return {
    isEndMark(data) {
      done = isDone(data);
      return done;
    },
    isOver: () => done || seen.isOver,
    takeUnparsed(frame) {
      const chunk = ends.isWaiting || usual?.isWithin ? undefined : reader?.read(frame.bytes());
      if (!chunk) return undefined;
      if (chunk.text !== "") meter.countText(chunk.text);
      if (chunk.isContent) sources?.say(chunk.text);
      const visible = chunk.frame ? Wire.ofFrame(frame.desc, chunk.frame) : frame;
      return visible.withPlainText(chunk.plainText);
    },
    take(frame, json) {
      if (isOwnEvent(json)) return undefined;
      const choices = json.choices ?? [];
      if (!Array.isArray(choices)) throw new TypeError("`choices` is no list");
      for (const choice of choices) if (isObject(choice)) meterChoice(choice, searches, meter);
      seen.take(json, choices);
      if (counts.take(json)) meter.reportUsage(counts.reported);
      const shown = seesUsage ? frame : withoutUsage(frame, json);
      const usualChoices = usual ? usual.choices(json) : usualTexts(json);
      sources?.take(json, usualChoices ?? choices);
      const visible = shown && withMembers(shown, head(json), usualChoices);
      // The usage that stands alone comes behind the ends.
      if (choices.length === 0 && seen.allFinished && (seen.isOver || !seen.mayGoOn))
        return [...rest(frame.desc), ...(visible ? [visible] : [])];
      if (!visible) return undefined;
      if (usualChoices) return ends.take(visible, usualChoices);
      // A long one is hardly like another.
      if (visible === shown && frame.bytes().length < longJson) reader?.learn(json, frame.bytes(), visible.bytes());
      return ends.take(visible, choices);
    },
    takeFault(json) {
      if (counts.take(json)) meter.reportUsage(counts.reported);
    },
    isCut: () => seen.isCut,
    isComplete: () => (done ? seen.hasAnswer : seen.allFinished),
    mayGoOn: () => !done && seen.mayGoOn,
    lingerMs: () => seen.lingerMs,
    isWaiting: () => ends.isWaiting,
    waitingFrames: rest,
    heldFrames: () => ends.unended(),
    closingFrames: (desc) => [...rest(desc), ...lastFrame(desc, seen.lastChunk(), usual)],
  };
}

/** withMembers returns a frame with the members that it lacks, and with its usual choices; the same frame where it needs neither. */
function withMembers<O extends DescMessage>(
  frame: Wire<O>,
  lacking: JsonObject | undefined,
  choices: JsonValue[] | undefined,
): Wire<O> {
  const changes = choices ? { ...lacking, choices } : lacking;
  return changes ? frame.with(changes) : frame;
}

/** isOwnEvent reports an event of the server's own between the chunks, as mistral.rs sends of its tools: strict clients take no frame but chunks. */
function isOwnEvent({ type, choices, usage = null }: JsonObject): boolean {
  return typeof type === "string" && choices === undefined && usage === null;
}

/** lastFrames returns what comes behind all that was said: the sources of the text, and the ends that wait. */
function lastFrames<O extends DescMessage>(
  desc: O,
  cited: JsonObject | undefined,
  ends: LastEnds,
  head: JsonObject,
  operation: Operation,
): readonly Wire<O>[] {
  const told = cited ? ends.take(Wire.ofJson(desc, { ...head, choices: [cited] }, true), [cited]) : [];
  return [told, ends.rest(desc, head, operation === "completions")].flat();
}

/** lastFrame returns the frame of a chunk that the server has left out. */
function lastFrame<O extends DescMessage>(desc: O, chunk: JsonObject | undefined, usual: UsualChunks | undefined) {
  if (!chunk) return [];
  const choices = usual?.choices(chunk);
  return [Wire.ofJson(desc, choices ? { ...chunk, choices } : chunk, true)];
}

/**
 * withoutUsage returns what a caller who did not ask for the usage sees of a frame: neither the usage, which the gateway asked for, nor the
 * nulls that announce it.
 */
function withoutUsage<O extends DescMessage>(frame: Wire<O>, json: JsonObject): Wire<O> | undefined {
  if (!("usage" in json)) return frame;
  if (json.usage === null) return withoutNullUsage(frame);
  return Array.isArray(json.choices) && json.choices.length > 0 ? frame.with({ usage: undefined }) : undefined;
}

/** withoutRepeats returns a tracker of a chat that takes no message which tells again what deltas have told. */
function withoutRepeats({ operation }: Attempt, tracker: StreamTracker): StreamTracker {
  if (operation !== "chat") return tracker;
  const messages = new RepeatedMessages();
  return {
    ...tracker,
    take(frame, json) {
      const { choices } = json;
      if (!Array.isArray(choices)) return tracker.take(frame, json);
      const unsaid = messages.unsaid(choices);
      if (unsaid === choices) return tracker.take(frame, json);
      return tracker.take(frame.with({ choices: unsaid }), { ...json, choices: unsaid });
    },
  };
}

/**
 * withNativeChunks returns a tracker that takes the pieces of another API's stream as chunks of a chat, whose words are the text where a
 * completion was asked for.
 */
function withNativeChunks(
  { id, operation }: Attempt,
  tracker: StreamTracker,
  errorIn: Dialect["errorIn"],
): StreamTracker {
  if (operation !== "chat" && operation !== "completions") return tracker;
  let read: ReturnType<typeof createChunkReader> | undefined;
  return {
    ...tracker,
    take(frame, json) {
      if (json.choices !== undefined) return tracker.take(frame, json);
      read ??= createChunkReader(chatIdOf(id));
      const piece = read(json);
      if (!piece) return tracker.take(frame, json);
      const { chunk, isLast } = piece;
      const fault = chunk && errorIn(chunk, Buffer.from(JSON.stringify(chunk)), operation, "frame");
      if (fault) throw fault;
      const seen = chunk && tracker.take(Wire.ofJson(frame.desc, chunk, true), chunk);
      // Their last event stands for the end mark.
      if (isLast) tracker.isEndMark(endMark);
      return seen;
    },
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
