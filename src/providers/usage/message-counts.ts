/**
 * The usage that an answer of Anthropic's Messages API tells, as parts that do not overlap: the one reader, for what a call is
 * charged and for what translations tell of it.
 *
 * A stream tells its counts more than once. Of the input the last word stands, for the first may be an estimate; but some
 * servers end with zeros, which take back nothing. The output grows: the greatest count stands.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { ToldManner, ToldUsage } from "../../call/usage.ts";
import { countOf, membersOf } from "./count.ts";
import { reportedManner } from "./manner.ts";

type Written = Pick<ToldUsage, "cacheWrite" | "cacheWriteHour">;

export class MessageUsageReader {
  #input: Pick<ToldUsage, "input" | "cacheRead"> & Written = {};
  #output: number | undefined;
  #reasoning = 0;
  #hasReasoning = false;
  #searches: number | undefined;
  #manner: ToldManner | undefined;

  /** Takes what stands as `usage`. Returns whether it was any. */
  take(usage: JsonValue | undefined): boolean {
    if (typeof usage !== "object" || usage === null || Array.isArray(usage)) return false;
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
      ...only("input", countOf(usage.input_tokens)),
      ...only("cacheRead", countOf(usage.cache_read_input_tokens)),
      ...writtenParts(usage, this.#input.cacheWriteHour ?? 0),
    };
    if (sumOf(next) > 0 || sumOf(this.#input) === 0) this.#input = { ...this.#input, ...next };
  }

  /** The end of a stream need not say again how it is served: each word stands until there is another. */
  #takeManner(usage: JsonObject): void {
    const searches = countOf(membersOf(usage.server_tool_use).web_search_requests);
    if (searches !== undefined) this.#searches = Math.max(searches, this.#searches ?? 0);
    const told = reportedManner(usage);
    if (!told) return;
    const { tier, speed, region } = this.#manner ?? {};
    this.#manner = { tier: told.tier ?? tier, speed: told.speed ?? speed, region: told.region ?? region };
  }

  /** What was told so far; a part that was not is left out. Reasoning is none where only the output was told. */
  get reported(): ToldUsage {
    const output = this.#output;
    const told =
      output === undefined ? this.#input : { ...this.#input, output, reasoning: Math.min(output, this.#reasoning) };
    if (this.#searches === undefined && !this.#manner) return told;
    const searches = this.#searches === undefined ? {} : { searches: this.#searches };
    return { ...told, ...searches, ...(this.#manner && { manner: this.#manner }) };
  }

  /** Whether anything was told of the reasoning. */
  get hasReasoning(): boolean {
    return this.#hasReasoning;
  }
}

function sumOf({ input = 0, cacheRead = 0, cacheWrite = 0, cacheWriteHour = 0 }: ToldUsage): number {
  return input + cacheRead + cacheWrite + cacheWriteHour;
}

/** What was told before of a part is told again by leaving the part out. */
function only(part: keyof ToldUsage, count: number | undefined): ToldUsage {
  return count === undefined ? {} : { [part]: count };
}

/** The sum alone may be told again at the end: then as much of it is long as was before. */
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
