/**
 * Reads the usage of an answer of Anthropic's Messages API, as parts that do not overlap. It is the only reader, for
 * the charge and for translations.
 *
 * A stream reports usage repeatedly, and the greatest counts stand. Of the input that is the report with the greatest sum of all
 * parts, and of equal ones the last: parts of different reports are not mixed, because a later one may split the same tokens
 * otherwise. A part that a report leaves out keeps its value.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { ToldManner, ToldUsage } from "../../call/usage.ts";
import { countOf, isBrokenCount, membersOf } from "./count.ts";
import { reportedManner } from "./manner.ts";

type Written = Pick<ToldUsage, "cacheWrite" | "cacheWriteHour">;

export class MessageUsageReader {
  #input: Pick<ToldUsage, "input" | "cacheRead"> & Written = {};
  #output: number | undefined;
  #reasoning = 0;
  #hasReasoning = false;
  #searches: number | undefined;
  #manner: ToldManner | undefined;
  #isBroken = false;

  /** Takes the value of `usage`. Returns whether it was an object. */
  take(usage: JsonValue | undefined): boolean {
    if (typeof usage !== "object" || usage === null || Array.isArray(usage)) return false;
    this.#isBroken ||= isBrokenCount(usage.input_tokens) || isBrokenCount(usage.output_tokens);
    this.#takeInput(usage);
    this.#takeManner(usage);
    const output = countOf(usage.output_tokens);
    const thinking = countOf(membersOf(usage.output_tokens_details).thinking_tokens);
    if (thinking !== undefined) {
      this.#hasReasoning = true;
      this.#reasoning = Math.max(this.#reasoning, thinking);
    }
    if (output !== undefined) this.#output = Math.max(output, this.#output ?? 0);
    return true;
  }

  #takeInput(usage: JsonObject): void {
    const next = {
      ...this.#input,
      ...only("input", countOf(usage.input_tokens)),
      ...only("cacheRead", countOf(usage.cache_read_input_tokens)),
      ...writtenParts(usage, this.#input.cacheWriteHour ?? 0),
    };
    if (sumOf(next) >= sumOf(this.#input)) this.#input = next;
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

  /** The usage reported so far; unreported parts are left out. Reasoning is 0 where only the output was reported. */
  get reported(): ToldUsage {
    const output = this.#output;
    const reported =
      output === undefined ? this.#input : { ...this.#input, output, reasoning: Math.min(output, this.#reasoning) };
    if (this.#searches === undefined && !this.#manner && !this.#isBroken) return reported;
    const searches = this.#searches === undefined ? {} : { searches: this.#searches };
    return {
      ...reported,
      ...searches,
      ...(this.#manner && { manner: this.#manner }),
      ...(this.#isBroken && { isBroken: true }),
    };
  }

  /** hasReasoning is whether reasoning was reported. */
  get hasReasoning(): boolean {
    return this.#hasReasoning;
  }
}

function sumOf({ input = 0, cacheRead = 0, cacheWrite = 0, cacheWriteHour = 0 }: ToldUsage): number {
  return input + cacheRead + cacheWrite + cacheWriteHour;
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
