/**
 * Reads the usage of an answer of OpenAI's dialect, in whichever form, as parts that do not overlap. It is the only
 * reader, for the charge and for translations.
 *
 * Vendors put usage into the answer, into a choice, or into a member of their own; they count reasoning within the
 * completion, beside it, or in the total alone, and cached input within the prompt or beside it, by half a dozen
 * names. Other APIs' answers have it elsewhere (`usage-beside.ts`). A stream may report usage repeatedly: the
 * greatest counts stand, and of equal ones the last. Anything that is no count is ignored.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type ToldManner, type ToldUsage, totalInput } from "../../call/usage.ts";
import { isObject } from "../../wire/json.ts";
import { countOf, greatestOf, isBrokenCount, membersOf } from "./count.ts";
import { reportedManner } from "./manner.ts";
import { usageBeside, usageOfUnits } from "./usage-beside.ts";

/** InputParts: `cacheWriteHour` is set where a part was written for longer than usual; `cacheWrite` is without it. */
type InputParts = Pick<ToldUsage, "cacheWriteHour"> & Record<"input" | "cacheRead" | "cacheWrite", number>;
type OutputParts = { readonly output: number; readonly reasoning: number; readonly hasReasoning: boolean };
/** RareParts are reported by few vendors and models; unset where nothing was reported, or none. */
type RareParts = Pick<ToldUsage, "inputAudio" | "inputImage" | "outputAudio" | "searches">;
/** OwnNames are the names by which callers of an API read its sums. */
type OwnNames = readonly [input: string, output: string];

const chatNames: OwnNames = ["prompt_tokens", "completion_tokens"];
export const responseNames: OwnNames = ["input_tokens", "output_tokens"];

export class ChatUsageReader {
  readonly #names: OwnNames;
  #input: InputParts | undefined;
  #output: OutputParts | undefined;
  #rare: RareParts | undefined;
  #manner: ToldManner | undefined;
  #isBroken = false;
  /** isInPlace is whether usage was reported where, and as, callers read it. */
  #isInPlace = false;

  constructor(names = chatNames) {
    this.#names = names;
  }

  /** Takes an answer or a chunk. Returns whether it reported usage. */
  take(json: JsonObject): boolean {
    const { usage, x_groq, choices, service_tier } = json;
    // Each chunk may name the tier, and the one with the usage need not.
    if (service_tier !== undefined) this.#manner = reportedManner(json) ?? this.#manner;
    let hasTold = this.#takeUsage(usage || usageBeside(json), json, Boolean(usage));
    if (x_groq) hasTold = this.#takeUsage(membersOf(x_groq).usage, json) || hasTold;
    if (!Array.isArray(choices)) return hasTold;
    for (const choice of choices) {
      const inside = (choice as JsonObject | null)?.usage;
      if (inside) hasTold = this.#takeUsage(inside, json) || hasTold;
    }
    return hasTold;
  }

  /** The usage reported so far. Parts that were not reported are undefined. */
  get reported(): ToldUsage {
    const { input, cacheRead, cacheWrite, cacheWriteHour } = this.#input ?? {};
    const { output, reasoning } = this.#output ?? {};
    const longer = cacheWriteHour === undefined ? {} : { cacheWriteHour };
    const parts = { input, cacheRead, cacheWrite, ...longer, output, reasoning };
    const isElsewhere = !this.#isInPlace && (input ?? output) !== undefined;
    if (!this.#rare && !this.#manner && !this.#isBroken && !isElsewhere) return parts;
    const rare = this.#rare && within(this.#rare, input ?? 0, output ?? 0);
    return {
      ...parts,
      ...rare,
      manner: this.#manner,
      ...(this.#isBroken && { isBroken: true }),
      ...(isElsewhere && { isElsewhere }),
    };
  }

  /** hasReasoning is whether reasoning was reported. */
  get hasReasoning(): boolean {
    return this.#output?.hasReasoning ?? false;
  }

  #takeUsage(told: JsonValue | undefined, { choices, timings }: JsonObject, isPlace = false): boolean {
    if (!isObject(told)) return false;
    const usage = usageOfUnits(told) ?? told;
    this.#manner ??= reportedManner(usage);
    this.#isBroken ||= isBroken(usage);
    this.#rare = greaterRare(this.#rare, rareParts(usage));
    const sums = sumsOf(usage);
    const isOfInputOnly = choices === undefined && sums.output === undefined;
    const prompt = sums.prompt ?? (isOfInputOnly ? sums.total : undefined);
    const input = inputParts(usage, { ...sums, prompt }, timings, this.#input?.cacheWriteHour);
    const output = outputParts(usage, sums, input);
    if (input && totalInput(input) >= totalInput(this.#input ?? {})) this.#input = input;
    if (output && output.output >= (this.#output?.output ?? 0)) this.#output = output;
    const hasCounts = input !== undefined || (output?.output ?? 0) > 0;
    if (isPlace && hasCounts && this.#hasOwnNames(told, input, output)) this.#isInPlace = true;
    return true;
  }

  /** hasOwnNames reports whether the parts that were read of a usage have something by its API's own names. */
  #hasOwnNames(usage: JsonObject, input: InputParts | undefined, output: OutputParts | undefined): boolean {
    const [inputName, outputName] = this.#names;
    return (!input || (usage[inputName] ?? null) !== null) && (!output || (usage[outputName] ?? null) !== null);
  }
}

/** isBroken reports whether a sum is no count. Such sums are ignored, and said: the gateway counts in their place. */
function isBroken(usage: JsonObject): boolean {
  return sumNames.some((name) => isBrokenCount(usage[name]));
}

/** isWrong reports whether a sum is a number, and no count. Then no total tells what it should be; it may where a sum is a text. */
function isWrong(usage: JsonObject): boolean {
  return sumNames.some((name) => typeof usage[name] === "number" && isBrokenCount(usage[name]));
}

const sumNames = ["prompt_tokens", "completion_tokens", "input_tokens", "output_tokens"];

/** Sums of all input, of all output, and of both, as the vendor reports them. */
interface Sums {
  readonly prompt: number | undefined;
  readonly output: number | undefined;
  readonly total: number | undefined;
}

function sumsOf(usage: JsonObject): Sums {
  const output = countOf(usage.completion_tokens) ?? countOf(usage.output_tokens) ?? countIn(usage, outputNames);
  const total = isWrong(usage) ? undefined : (countOf(usage.total_tokens) ?? countIn(usage, totalNames));
  const prompt = countOf(usage.prompt_tokens) ?? inputTokens(usage) ?? otherInput(usage);
  const rest = total !== undefined && output !== undefined && total > output ? total - output : undefined;
  // Mistral counts audio beside the prompt: then the total is the prompt, the audio and the output.
  const audio = countOf(membersOf(usage.prompt_tokens_details).audio_tokens) ?? 0;
  const isBeside = prompt !== undefined && audio > 0 && rest === prompt + audio;
  return { prompt: isBeside ? rest : (prompt ?? rest), output, total };
}

/**
 * inputNames, and those below, name the same counts in other APIs, which some servers pass on: the AI SDK's, Google's and Bedrock's.
 */
const inputNames = ["promptTokens", "inputTokens", "promptTokenCount", "inputTokenCount"];
const outputNames = ["completionTokens", "outputTokens", "candidatesTokenCount", "outputTokenCount"];
const totalNames = ["totalTokens", "totalTokenCount"];
const readNames = ["cachedInputTokens", "cachedContentTokenCount", "cacheReadInputTokens"];
const reasoningNames = ["reasoningTokens", "thoughtsTokenCount"];

function countIn(usage: JsonObject, names: readonly string[]): number | undefined {
  const name = names.find((one) => Object.hasOwn(usage, one));
  return name === undefined ? undefined : countOf(usage[name]);
}

/** A usage with Anthropic's names for input and cache counts the cache beside the input. */
function inputTokens({ input_tokens, cache_read_input_tokens, cache_creation_input_tokens }: JsonObject) {
  const fresh = countOf(input_tokens);
  if (fresh === undefined) return undefined;
  return fresh + (countOf(cache_read_input_tokens) ?? 0) + (countOf(cache_creation_input_tokens) ?? 0);
}

/** otherInput reads the names of other APIs. Bedrock counts the cache beside the input, too. */
function otherInput(usage: JsonObject): number | undefined {
  const input = countIn(usage, inputNames);
  if (input === undefined) return undefined;
  return (
    input +
    (countOf(usage.toolUsePromptTokenCount) ?? 0) +
    (countOf(usage.cacheReadInputTokens) ?? 0) +
    (countOf(usage.cacheWriteInputTokens) ?? 0)
  );
}

/**
 * inputParts splits the prompt's tokens, which include the cache's, except where these are more: some aggregators have left them out of the
 * prompt. No prompt at all is an unreported one. `longerBefore` is what an earlier report said was written for longer.
 */
function inputParts(
  usage: JsonObject,
  { prompt, output = 0, total }: Sums,
  timings: JsonValue | undefined,
  longerBefore: number | undefined,
): InputParts | undefined {
  const [read, written] = [readIn(usage, timings), writtenIn(usage)];
  if (prompt === undefined || (prompt === 0 && read + written === 0)) return undefined;
  // Without a total that is true of the rest there is nothing to go by.
  const isBeside = Math.max(read, written) > prompt && total !== undefined && total >= prompt + output;
  if (isBeside) return { input: prompt, cacheRead: read, ...writtenParts(usage, written, longerBefore) };
  const cacheRead = Math.min(prompt, read);
  const cacheWrite = Math.min(prompt - cacheRead, written);
  return { input: prompt - cacheRead - cacheWrite, cacheRead, ...writtenParts(usage, cacheWrite, longerBefore) };
}

/**
 * writtenParts splits what was written to the cache by its lifetime: what is kept for an hour, or for twelve, costs more. A report may have the
 * sum alone: then as much is kept for longer as before.
 */
function writtenParts(
  usage: JsonObject,
  written: number,
  longerBefore: number | undefined,
): Pick<InputParts, "cacheWrite" | "cacheWriteHour"> {
  const longer = keptForHours(usage) ?? longerBefore;
  if (longer === undefined) return { cacheWrite: written };
  const cacheWriteHour = Math.min(written, longer);
  return { cacheWrite: written - cacheWriteHour, cacheWriteHour };
}

/** ofHours matches the names of what is kept for hours: `ttl_12h_tokens`, `ephemeral_1h_input_tokens`. */
const ofHours = /^(?:ttl|ephemeral)_\d+h_/;

/** keptForHours returns what was written for hours, as OpenAI, Anthropic and LiteLLM split it; undefined where nobody says. */
function keptForHours(usage: JsonObject): number | undefined {
  const details = membersOf(usage.input_tokens_details ?? usage.prompt_tokens_details);
  const splits = [details.cache_write_tokens_details, details.cache_creation_token_details, usage.cache_creation];
  if (!splits.some(isObject)) return undefined;
  const counts = splits.map((split) =>
    Object.entries(membersOf(split)).flatMap(([name, count]) => (ofHours.test(name) ? (countOf(count) ?? []) : [])),
  );
  const told = counts.find(({ length }) => length > 0);
  return told?.reduce((sum, count) => sum + count);
}

/** Cached input by the names of OpenAI, Mistral (two), DeepSeek, Moonshot, Anthropic, Responses, llama.cpp and other APIs. */
function readIn(usage: JsonObject, timings: JsonValue | undefined): number {
  return greatestOf(
    membersOf(usage.prompt_tokens_details).cached_tokens,
    membersOf(usage.prompt_token_details).cached_tokens,
    membersOf(usage.input_tokens_details).cached_tokens,
    usage.prompt_cache_hit_tokens,
    usage.cached_tokens,
    usage.num_cached_tokens,
    usage.cache_read_input_tokens,
    membersOf(timings).cache_n,
    countIn(usage, readNames),
  );
}

/** greaterRare returns the greater count of each part. */
function greaterRare(before: RareParts | undefined, next: RareParts | undefined): RareParts | undefined {
  if (!before || !next) return next ?? before;
  return {
    inputAudio: Math.max(before.inputAudio ?? 0, next.inputAudio ?? 0),
    inputImage: Math.max(before.inputImage ?? 0, next.inputImage ?? 0),
    outputAudio: Math.max(before.outputAudio ?? 0, next.outputAudio ?? 0),
    searches: next.searches === undefined ? before.searches : Math.max(before.searches ?? 0, next.searches),
  };
}

/** within bounds each part by what it is a part of: of the input, by what is left beside the cache. */
function within(
  { inputAudio = 0, inputImage = 0, outputAudio = 0, searches }: RareParts,
  input: number,
  output: number,
) {
  const audio = Math.min(inputAudio, input);
  const ofInput = { inputAudio: audio, inputImage: Math.min(inputImage, input - audio) };
  return { ...ofInput, outputAudio: Math.min(outputAudio, output), ...(searches === undefined ? {} : { searches }) };
}

/** rareParts reads OpenAI's names, and those of vLLM for media of the prompt. Returns undefined where none is reported. */
function rareParts(usage: JsonObject): RareParts | undefined {
  const ofPrompt = membersOf(usage.prompt_tokens_details ?? usage.input_tokens_details);
  const ofOutput = membersOf(usage.completion_tokens_details ?? usage.output_tokens_details);
  const ofMedia = membersOf(ofPrompt.multimodal_tokens);
  const inputAudio = countOf(ofPrompt.audio_tokens) ?? countOf(ofMedia.audio) ?? 0;
  const inputImage = countOf(ofPrompt.image_tokens) ?? countOf(ofMedia.image) ?? 0;
  const outputAudio = countOf(ofOutput.audio_tokens) ?? 0;
  const searches = searchesIn(usage);
  if (inputAudio + inputImage + outputAudio === 0 && searches === undefined) return undefined;
  return { inputAudio, inputImage, outputAudio, searches };
}

/** searchesIn reads the names of OpenRouter (two), of Alibaba, of Perplexity, and of xAI (two), which counts sources, too. */
function searchesIn(usage: JsonObject) {
  return (
    countOf(membersOf(usage.server_tool_use).web_search_requests) ??
    countOf(membersOf(usage.server_tool_use_details).web_search_requests) ??
    countOf(membersOf(usage.server_side_tool_usage_details).web_search_calls) ??
    countOf(membersOf(membersOf(usage.plugins).search).count) ??
    countOf(usage.num_search_queries) ??
    countOf(usage.num_sources_used)
  );
}

/** Written cache by the names of OpenAI, Alibaba, Anthropic, vLLM and other gateways. */
function writtenIn(usage: JsonObject): number {
  const details = membersOf(usage.prompt_tokens_details);
  return greatestOf(
    details.cache_write_tokens,
    details.cache_creation_input_tokens,
    details.cache_creation_tokens,
    membersOf(usage.input_tokens_details).cache_write_tokens,
    details.cached_creation_tokens,
    details.created_cache_tokens,
    usage.cache_creation_input_tokens,
    usage.cacheWriteInputTokens,
  );
}

/** marksOfReasoning are the tokens around reasoning that some servers count as a part of it, and not of the completion: a few. */
const marksOfReasoning = 16;

/**
 * The completion's tokens include the reasoning, except at xAI and at Gemini, where only the total has it, and for Perplexity's research, where
 * not even the total has; nor has it at DeepInfra and others where there is more reasoning than completion. Without a completion count the
 * output is the total less the prompt, or the reasoning alone.
 */
function outputParts(usage: JsonObject, sums: Sums, input: InputParts | undefined): OutputParts | undefined {
  const { total = 0, prompt = Number.NaN } = sums;
  const reasoningCount = reasoningIn(usage);
  if (sums.output === undefined) {
    const output = total > prompt ? total - prompt : (reasoningCount ?? 0);
    return output > 0 ? outputOf(output, reasoningCount) : undefined;
  }
  // Google counts thoughts beside the candidates, and in the total also the results of its own tools.
  const thoughts = countOf(usage.thoughtsTokenCount);
  if (thoughts !== undefined && countOf(usage.candidatesTokenCount) === sums.output)
    return outputOf(sums.output + thoughts, thoughts);
  const { cacheRead = 0, cacheWrite: short = 0, cacheWriteHour = 0 } = input ?? {};
  const cacheWrite = short + cacheWriteHour;
  const cached = cacheRead + cacheWrite;
  const rest = total - prompt - sums.output;
  // Cache that stands beside the prompt may be in the total, too.
  const beside = totalInput(input ?? {}) > prompt && rest >= cached ? rest - cached : rest;
  const isOfCache = [cached, cacheRead, cacheWrite].includes(beside);
  const isReasoning = reasoningCount === undefined ? !isOfCache : beside === reasoningCount;
  if (beside > 0 && isReasoning) return outputOf(sums.output + beside, beside);
  const isResearch = countOf(usage.citation_tokens) !== undefined;
  const isWithin = reasoningCount === undefined || (!isResearch && reasoningCount <= sums.output + marksOfReasoning);
  return outputOf(sums.output + (isWithin ? 0 : reasoningCount), reasoningCount);
}

function outputOf(output: number, reasoning: number | undefined): OutputParts {
  return { output, reasoning: Math.min(output, reasoning ?? 0), hasReasoning: reasoning !== undefined };
}

function reasoningIn(usage: JsonObject): number | undefined {
  const { completion_tokens_details, output_tokens_details, reasoning_tokens } = usage;
  return (
    countOf(membersOf(completion_tokens_details).reasoning_tokens) ??
    countOf(membersOf(output_tokens_details).reasoning_tokens) ??
    countOf(reasoning_tokens) ??
    countIn(usage, reasoningNames)
  );
}
