/**
 * Reads the usage of an answer of Anthropic's Messages API, as parts that do not overlap. It is the only reader, for
 * the charge and for translations.
 *
 * A stream reports usage repeatedly, and the greatest counts stand. Of the input that is the report with the greatest sum of all
 * parts, and of equal ones the last: parts of different reports are not mixed, because a later one may split the same tokens
 * otherwise. A part that a report leaves out keeps its value.
 *
 * The tokens by which the vendor compacted the conversation are billed, and are in `iterations` alone: they are added to the sums. A stream
 * that begins by compacting has their input in its beginning, too: a report that lists them says what is beside them, though it is less.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type ToldManner, type ToldUsage, totalInput } from "../../call/usage.ts";
import { isObject } from "../../wire/json.ts";
import { countOf, isBrokenCount, membersOf } from "./count.ts";
import { reportedManner } from "./manner.ts";

type Written = Pick<ToldUsage, "cacheWrite" | "cacheWriteHour">;
type Counts = { readonly [part in "input" | "cacheRead" | "cacheWrite" | "cacheWriteHour" | "output"]: number };

const nothing: Counts = { input: 0, cacheRead: 0, cacheWrite: 0, cacheWriteHour: 0, output: 0 };

export class MessageUsageReader {
  #input: Pick<ToldUsage, "input" | "cacheRead"> & Written = {};
  #output: number | undefined;
  #leastOutput: number | undefined;
  #reasoning = 0;
  #hasReasoning = false;
  #searches: number | undefined;
  #manner: ToldManner | undefined;
  #isBroken = false;
  /** isElsewhere is whether counts were reported by chat's names. */
  #isElsewhere = false;
  #compacted: Counts | undefined;

  /** Takes the `usage` of the beginning of a message, whose output is that of nothing so far. Returns whether it was an object. */
  takeBeginning(usage: JsonValue | undefined): boolean {
    const isTaken = this.take(usage);
    if (!this.#output) return isTaken;
    this.#leastOutput = this.#output;
    this.#output = undefined;
    return isTaken;
  }

  /** Takes the value of `usage`. Returns whether it was an object. */
  take(usage: JsonValue | undefined): boolean {
    if (!isObject(usage)) return false;
    this.#isBroken ||= isBrokenCount(usage.input_tokens) || isBrokenCount(usage.output_tokens);
    this.#isElsewhere ||= isByChatNames(usage);
    const beside = besideCompaction(usage);
    this.#takeInput(beside ?? usage, beside && repliesIn(usage));
    this.#takeManner(usage);
    this.#takeIterations(usage);
    // Servers that translate from chat may keep its names.
    const output = countOf(usage.output_tokens) ?? countOf(usage.completion_tokens);
    const thinking = countOf(membersOf(usage.output_tokens_details).thinking_tokens);
    if (thinking !== undefined) {
      this.#hasReasoning = true;
      this.#reasoning = Math.max(this.#reasoning, thinking);
    }
    // The beginning counted the output of the compaction, and this report counts that of the reply.
    if (output && beside) this.#output = output;
    else if (output !== undefined) this.#output = Math.max(output, this.#output ?? 0, this.#leastOutput ?? 0);
    return true;
  }

  /** `replies` is what the replies took, where the report is of them alone: then it stands in place of what came before. */
  #takeInput(usage: JsonObject, replies: Counts | undefined): void {
    const before = replies ? { cacheWriteHour: replies.cacheWriteHour } : this.#input;
    const next = {
      ...before,
      ...only("input", countOf(usage.input_tokens)),
      ...only("cacheRead", countOf(usage.cache_read_input_tokens)),
      ...(countOf(usage.input_tokens) === undefined ? chatParts(usage) : {}),
      ...writtenParts(usage, before.cacheWriteHour ?? 0),
    };
    if (replies || totalInput(next) >= totalInput(this.#input)) this.#input = next;
  }

  /** The list grows with the answer: the greatest sum stands. */
  #takeIterations(usage: JsonObject): void {
    const compactions = iterationsOf(usage, "compaction");
    if (compactions.length === 0) return;
    const sum = compactions.map(countsIn).reduce(added, nothing);
    if (totalInput(sum) + sum.output >= totalInput(this.#compacted ?? {}) + (this.#compacted?.output ?? 0))
      this.#compacted = sum;
  }

  /** Each word stands until there is another: the end of a stream need not repeat it. */
  #takeManner(usage: JsonObject): void {
    const searches = countOf(membersOf(usage.server_tool_use).web_search_requests);
    if (searches !== undefined) this.#searches = Math.max(searches, this.#searches ?? 0);
    const reported = reportedManner(usage);
    if (!reported) return;
    const { tier, speed, region } = this.#manner ?? {};
    this.#manner = { tier: reported.tier ?? tier, speed: reported.speed ?? speed, region: reported.region ?? region };
  }

  /** #plain is the usage reported so far, without what compacting took. */
  get #plain(): ToldUsage {
    const output = this.#output;
    // No request is without input: some servers write zeros for what they do not count.
    const input = totalInput(this.#input) === 0 ? {} : this.#input;
    return output === undefined ? input : { ...input, output, reasoning: Math.min(output, this.#reasoning) };
  }

  /** The usage reported so far; unreported parts are left out. Reasoning is 0 where only the output was reported. */
  get reported(): ToldUsage {
    const output = this.#output;
    const compacted = this.#compacted ?? nothing;
    const reported = this.#compacted ? withCompacted(this.#plain, compacted) : this.#plain;
    const least = output === undefined ? (this.#leastOutput ?? 0) + compacted.output : 0;
    const isPlain = this.#leastOutput === undefined && least === 0 && this.#searches === undefined && !this.#manner;
    if (isPlain && !this.#isBroken && !this.#isElsewhere) return reported;
    const searches = this.#searches === undefined ? {} : { searches: this.#searches };
    return {
      ...reported,
      ...(least > 0 && { leastOutput: least }),
      ...searches,
      ...(this.#manner && { manner: this.#manner }),
      ...(this.#isBroken && { isBroken: true }),
      ...(this.#isElsewhere && { isElsewhere: true }),
    };
  }

  /** hasReasoning is whether reasoning was reported. */
  get hasReasoning(): boolean {
    return this.#hasReasoning;
  }
}

/** iterationsOf returns those of one type. */
function iterationsOf({ iterations }: JsonObject, type: string): JsonObject[] {
  return Array.isArray(iterations) ? iterations.map(membersOf).filter((one) => one.type === type) : [];
}

/**
 * besideCompaction returns a report with the input of the reply alone, beside which stands what was compacted; undefined where nothing was, or
 * the input is not told. The replies are listed, too, for one that has no sum of them.
 */
function besideCompaction(usage: JsonObject): JsonObject | undefined {
  if (iterationsOf(usage, "compaction").length === 0) return undefined;
  if (totalInput(countsIn(usage)) > 0) return usage;
  const replies = repliesIn(usage);
  if (totalInput(replies) === 0) return undefined;
  return {
    ...usage,
    input_tokens: replies.input,
    cache_read_input_tokens: replies.cacheRead,
    cache_creation_input_tokens: replies.cacheWrite + replies.cacheWriteHour,
  };
}

/** repliesIn sums what the replies took. The end of a stream has the sum of all that they wrote to the cache alone, and not for how long. */
function repliesIn(usage: JsonObject): Counts {
  return iterationsOf(usage, "message").map(countsIn).reduce(added, nothing);
}

/** withCompacted adds what compacting took to the sums that were told. One that was not told stays so, and is counted. */
function withCompacted(plain: ToldUsage, compacted: Counts): ToldUsage {
  const { output, ...input } = added(compacted, plain);
  return {
    ...plain,
    ...(totalInput(plain) > 0 && input),
    ...(plain.output !== undefined && { output }),
  };
}

function countsIn(usage: JsonObject): Counts {
  const { cacheWrite = 0, cacheWriteHour = 0 } = writtenParts(usage, 0);
  return {
    input: countOf(usage.input_tokens) ?? 0,
    cacheRead: countOf(usage.cache_read_input_tokens) ?? 0,
    cacheWrite,
    cacheWriteHour,
    output: countOf(usage.output_tokens) ?? 0,
  };
}

function added(sum: Counts, more: ToldUsage): Counts {
  return {
    input: sum.input + (more.input ?? 0),
    cacheRead: sum.cacheRead + (more.cacheRead ?? 0),
    cacheWrite: sum.cacheWrite + (more.cacheWrite ?? 0),
    cacheWriteHour: sum.cacheWriteHour + (more.cacheWriteHour ?? 0),
    output: sum.output + (more.output ?? 0),
  };
}

/** isByChatNames reports whether counts are there by chat's names alone. */
function isByChatNames({ input_tokens, output_tokens, prompt_tokens, completion_tokens }: JsonObject): boolean {
  const isOnly = (other: JsonValue | undefined, own: JsonValue | undefined) =>
    countOf(other) !== undefined && countOf(own) === undefined;
  return isOnly(prompt_tokens, input_tokens) || isOnly(completion_tokens, output_tokens);
}

/** chatParts reads the input of servers that translate from chat and keep its names: the prompt includes what came from the cache. */
function chatParts({ prompt_tokens, prompt_tokens_details, cache_read_input_tokens }: JsonObject): ToldUsage {
  const prompt = countOf(prompt_tokens);
  if (prompt === undefined) return {};
  const cacheRead = countOf(membersOf(prompt_tokens_details).cached_tokens) ?? 0;
  // A cache by Anthropic's name is counted as there, beside the input.
  if (cacheRead === 0 || cache_read_input_tokens !== undefined) return { input: prompt };
  return { input: prompt - Math.min(prompt, cacheRead), cacheRead: Math.min(prompt, cacheRead) };
}

/** Leaving a part out keeps its last value. */
function only(part: keyof ToldUsage, count: number | undefined): ToldUsage {
  return count === undefined ? {} : { [part]: count };
}

/** The end may report the sum alone: then the long-lived part is as large as before. */
function writtenParts(usage: JsonObject, longBefore: number): Written {
  const split = membersOf(usage.cache_creation);
  const short = countOf(split.ephemeral_5m_input_tokens);
  const long = countOf(split.ephemeral_1h_input_tokens);
  const sum = countOf(usage.cache_creation_input_tokens);
  if (short !== undefined || long !== undefined) {
    const cacheWriteHour = long ?? 0;
    return { cacheWrite: Math.max(short ?? 0, (sum ?? 0) - cacheWriteHour), cacheWriteHour };
  }
  if (sum === undefined) return {};
  const cacheWriteHour = Math.min(sum, longBefore);
  return { cacheWrite: sum - cacheWriteHour, cacheWriteHour };
}
