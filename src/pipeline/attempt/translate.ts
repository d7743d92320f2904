/**
 * Translates a request to the dialect of its upstream. A translated request may be longer than the one that was sent; its bytes
 * are counted as the caller's.
 */
import type { Call } from "../../call/call.ts";
import type { Form, Input, Operation } from "../../call/operations.ts";
import { Refusal } from "../../call/refusals.ts";
import { isPlainChat } from "../../call/request/plain-chat.ts";
import { withoutMembers } from "../../call/request/refused-members.ts";
import { serversStateIn } from "../../call/request/servers-state.ts";
import { refuseThread } from "../../call/request/stored-thread.ts";
import { toolsAnywhere } from "../../call/tools/tools-anywhere.ts";
import { usableCalls } from "../../families/chat-to-chat/usable-calls.ts";
import { withTexts } from "../../families/completions-to-chat/text-choices.ts";
import { vectorsAsAsked } from "../../families/embeddings-encoding.ts";
import { mapInSlices, translateAll } from "../../families/index.ts";
import { withListedTools } from "../../families/tools/listed-tools.ts";
import { type WholeHistory, wholeHistory } from "../../families/tools/whole-history.ts";
import type { Translated, Translation } from "../../families/translation.ts";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { estimatePromptTokens } from "../../tokens/prompt.ts";
import { isObject } from "../../wire/json.ts";
import { jsonLength } from "../../wire/scan/json-length.ts";
import { Wire } from "../../wire/wire.ts";
import { unpricedToolsOf } from "../charge/estimate.ts";
import type { Candidate } from "../complete/candidates.ts";

/** The most that a translation lengthens a request: base64 that becomes JSON text, each byte of which may be escaped. */
const maxGrowth = 6;

export interface TranslateOptions {
  readonly form: Form;
  /** arrivedAt is in milliseconds since 1970. */
  readonly arrivedAt: number;
}

type TranslatedCandidate = Pick<Candidate, "path" | "model" | "target" | "operation" | "fitting" | "refused">;

/**
 * plainAsWritten returns a plain chat for a candidate that takes it as the caller wrote it, as `translate` would; undefined for any other
 * call.
 */
export function plainAsWritten(
  { path, operation, fitting, refused }: TranslatedCandidate,
  { request }: Call,
): Translated<Operation, Operation> | undefined {
  const takesPlain = operation === "chat" && path.length === 0 && !refused && (fitting?.takesPlainChats ?? true);
  if (!takesPlain || request.isMessageOnly() || !isPlainChat(request.outline())) return undefined;
  return { request: request as TranslatedRequest, dropped: [], callersPath: asItCame, answer: asItCame as Answering };
}

/** translate translates a call for a candidate, and fits it to what the upstream accepts. Throws a Refusal. */
export function* translate(
  candidate: TranslatedCandidate,
  part: Call,
  options: TranslateOptions,
): CooperativeTask<Translated<Operation, Operation>> {
  const translated = withoutServersState(yield* translateAlongPath(candidate, part, options));
  const fit = yield* withoutRefused(candidate, yield* fitted(candidate, translated), part);
  return fit.request === translated.request ? fit : { ...fit, request: yield* counted(fit.request, part) };
}

/** withoutServersState leaves out, and names, what no caller may ask of a server. */
function withoutServersState(translated: Translated<Operation, Operation>): Translated<Operation, Operation> {
  const refused = serversStateIn(translated.request.outline());
  if (refused.length === 0) return translated;
  const request = translated.request.with(Object.fromEntries(refused.map((key) => [key, undefined])));
  const named = refused.flatMap((key) => translated.callersPath(key) ?? []);
  return { ...translated, request: request as TranslatedRequest, dropped: [...translated.dropped, ...named] };
}

/** fitted fits a translated request to what its upstream accepts. */
export function* fitted(
  { path, operation, fitting }: Pick<Candidate, "path" | "operation" | "fitting">,
  translated: Translated<Operation, Operation>,
): CooperativeTask<Translated<Operation, Operation>> {
  if (!fitting) return translated;
  const task = fitting.fit(operation, translated.request, path.every(isRelay));
  const { request, dropped } = yield* inCallersPaths(task, translated.callersPath);
  if (request === translated.request && dropped.length === 0) return translated;
  const further = yield* mapInSlices(dropped, (path) => translated.callersPath(path) ?? []);
  return { ...translated, request, dropped: [...translated.dropped, ...further] };
}

/**
 * Leaves out of a request what its server has refused, and names the values of `anthropic-beta` that are left out with it. Throws a Refusal
 * where a thread would go on without what was said in it.
 */
function* withoutRefused(
  { refused }: Pick<Candidate, "refused">,
  translated: Translated<Operation, Operation>,
  { header }: Call,
): CooperativeTask<Translated<Operation, Operation>> {
  if (!refused) return translated;
  const sent = betasIn(header("anthropic-beta"));
  const betas = refused.betas.filter((beta) => sent.includes(beta)).map((beta) => `anthropic-beta.${beta}`);
  const json = translated.request.isLong ? translated.request.json() : translated.request.outline();
  const { changes, dropped } = yield* withoutMembers(json, refused.members);
  if (Object.keys(changes).length === 0 && betas.length === 0) return translated;
  if ("thread" in changes) refuseThread(json);
  const request = translated.request.changedBy(changes);
  const named = yield* mapInSlices(dropped, (path) => translated.callersPath(path) ?? []);
  return { ...translated, request: request as TranslatedRequest, dropped: [...translated.dropped, ...named, ...betas] };
}

/** betasIn returns the values of an `anthropic-beta`. */
export function betasIn(header: string | undefined): string[] {
  return (header ?? "").split(",").flatMap((beta) => beta.trim() || []);
}

/** isRelay reports whether a translation leaves a request in its own dialect. */
export function isRelay({ from, to }: Translation): boolean {
  return from === to;
}

/** translateAlongPath translates a call along a candidate's path. Throws a Refusal. */
export function* translateAlongPath(
  candidate: TranslatedCandidate,
  part: Call,
  options: TranslateOptions,
): CooperativeTask<Translated<Operation, Operation>> {
  const { path, operation } = candidate;
  // The fallback models concern the gateway, not the upstream.
  const isNamed = "models" in part.request.desc.field && part.request.outline().models !== undefined;
  const asked = (isNamed ? part.request.with({ models: undefined }) : part.request) as TranslatedRequest;
  const from = path[0]?.from ?? operation;
  const whole = yield* wholeHistory(from, asked);
  const isListed = from === "chat" && (operation !== "chat" || candidate.fitting?.takesListedTools === true);
  const { request, callersPath } = isListed ? yield* withListedTools(whole) : whole;
  if (path.length > 0) {
    const translated = translateWhole(candidate, request, part, options);
    return request === asked ? yield* translated : yield* renamed(translated, callersPath);
  }
  const sent = request === asked ? asked : yield* counted(request, part);
  return { request: sent, dropped: [], callersPath, answer: relayed(operation, request, part) };
}

function* translateWhole(
  { path, model, target, operation, fitting }: TranslatedCandidate,
  request: TranslatedRequest,
  part: Call,
  { form, arrivedAt }: TranslateOptions,
): CooperativeTask<Translated<Operation, Operation>> {
  const translated = yield* translateAll(path, request, {
    form,
    maxOutputTokens: model.maxOutputTokens,
    customTools: fitting?.customTools,
    marksCache: fitting?.cacheMarks !== undefined && fitting.cacheMarks !== "none",
    reasoningItems:
      operation === "responses" && fitting ? { upstream: target.upstream, ...fitting.reasoningItems } : undefined,
    isUnpriced: operation === "responses" ? unpricedToolsOf(model) : undefined,
    target,
    reasons: model.reasons,
    answerId: part.id.replace(/^req_/, ""),
    now: Math.floor(arrivedAt / 1000),
    estimateTokens: estimatePromptTokens,
  });
  return { ...translated, request: yield* counted(translated.request, part) };
}

/** renamed has whatever a translation names be named by the caller's paths. */
function* renamed(
  task: CooperativeTask<Translated<Operation, Operation>>,
  callersPath: WholeHistory["callersPath"],
): CooperativeTask<Translated<Operation, Operation>> {
  const translated = yield* inCallersPaths(task, callersPath);
  const dropped = yield* mapInSlices(translated.dropped, (path) => callersPath(path) ?? path);
  const toCaller = (path: string) => {
    const own = translated.callersPath(path);
    return own === undefined ? undefined : callersPath(own);
  };
  return { ...translated, dropped, callersPath: toCaller };
}

/** inCallersPaths has what a task refuses be named by the caller's paths. */
function* inCallersPaths<T>(task: CooperativeTask<T>, callersPath: WholeHistory["callersPath"]): CooperativeTask<T> {
  try {
    return yield* task;
  } catch (error) {
    throw error instanceof Refusal ? error.renamed(callersPath) : error;
  }
}

/**
 * relayed returns what makes the answer to a relayed request the caller's. Clients choose the encoding of vectors, and not all servers know
 * both; some answer completions as chats, and not all write calls of tools in all pieces as clients read them.
 */
function relayed(operation: Operation, request: TranslatedRequest, { id }: Call): Answering {
  if (operation === "embeddings") return vectorsAsAsked(request as Wire<Input<"embeddings">>) as Answering;
  if (operation === "completions") return withTexts as Answering;
  const json = operation === "chat" ? request.outline() : {};
  const { tools = null, tool_choice: choice } = json;
  if (tools === null && toolsAnywhere(json).length === 0) return asItCame as Answering;
  return usableCalls(id.replace(/^req_/, ""), isObject(choice)) as Answering;
}

type Answering = Translated<Operation, Operation>["answer"];

const asItCame = <T>(value: T) => value;

/** counted counts the bytes of a request that may have become too long. A long one is written for that, and sent as written. */
function* counted(request: TranslatedRequest, { body, request: { isLong } }: Call): CooperativeTask<TranslatedRequest> {
  const mayBeTooLong = body.bytes * maxGrowth > body.maxBytes;
  if (isLong) {
    return yield* Wire.ofLong(request.desc, request.json(), (length) => mayBeTooLong && body.growTo(length));
  }
  if (mayBeTooLong) body.growTo(jsonLength(request.json(), body.maxBytes));
  return request;
}

type TranslatedRequest = Translated<Operation, Operation>["request"];
