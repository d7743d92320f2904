/**
 * Reports a response to a meter: its usage, the model's output, and whether the model gave up.
 *
 * Values that cannot be read are ignored: they are never the answer's fault.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isFilledText, isObject } from "../../wire/json.ts";
import type { Meter } from "../contract.ts";
import { ChatUsageReader, responseNames } from "../usage/chat-counts.ts";
import { countOf, membersOf } from "../usage/count.ts";
import { countTextOf } from "../usage/count-text.ts";

/** meterResponse reports a unary response. */
export function meterResponse(response: JsonObject, meter: Meter): void {
  const counts = new ChatUsageReader(responseNames);
  tellUsage(response, counts, searchesIn(response.output), meter);
  if (hasGivenUp(response)) meter.reportGivenUp();
  if (!Array.isArray(response.output)) return;
  for (const item of response.output) if (isObject(item)) writeItem(item, meter);
}

/** ResponseMetering reports the events of a stream. */
export class ResponseMetering {
  readonly #meter: Meter;
  readonly #counts = new ChatUsageReader(responseNames);
  #searches = 0;
  /** hasPieces is whether the current item came in pieces. */
  #hasPieces = false;

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  take({ type, delta, item, response }: JsonObject): void {
    if (typeof type !== "string") return;
    if (type.endsWith(".delta")) {
      this.#hasPieces = true;
      // Audio, and anything else that is no text.
      if (typeof delta === "string") countTextOf(delta, this.#meter);
      else this.#meter.countText("");
    }
    if (isObject(item)) this.#item(type, item);
    if (isObject(response)) this.#response(response);
  }

  /** Takes a failed response, or an error with a usage beside it. */
  takeFault({ response, usage = null }: JsonObject): void {
    this.#response(isObject(response) ? response : { usage });
  }

  #item(type: string, item: JsonObject): void {
    if (type === "response.output_item.added") {
      this.#hasPieces = false;
      writeBeginning(item, this.#meter);
    } else if (type === "response.output_item.done") {
      // The search was made, even if the answer breaks off before its usage.
      if (isSearch(item)) this.#meter.reportUsage({ searches: ++this.#searches });
      if (!this.#hasPieces) writeContent(item, this.#meter);
      else if (item.encrypted_content) this.#meter.countText("");
      this.#hasPieces = false;
    }
  }

  #response(response: JsonObject): void {
    tellUsage(response, this.#counts, Math.max(this.#searches, searchesIn(response.output)), this.#meter);
    if (hasGivenUp(response)) this.#meter.reportGivenUp();
  }
}

/**
 * tellUsage reports usage and searches. Web searches are items of the answer. Only some vendors report them in the usage, too; and OpenAI
 * beside it those that it bills, which may be fewer.
 */
function tellUsage(
  { usage = null, service_tier, tool_usage }: JsonObject,
  counts: ChatUsageReader,
  items: number,
  meter: Meter,
): void {
  const hasTold = counts.take(service_tier === undefined ? { usage } : { usage, service_tier });
  const billed = countOf(membersOf(membersOf(tool_usage).web_search).num_requests);
  const { searches: counted = billed, ...reported } = counts.reported;
  const searches = counted ?? (items > 0 ? items : undefined);
  if (searches !== undefined) meter.reportUsage({ ...reported, searches });
  else if (hasTold) meter.reportUsage(reported);
}

function searchesIn(output: JsonValue | undefined): number {
  return Array.isArray(output) ? output.filter((item) => isObject(item) && isSearch(item)).length : 0;
}

/** Opening and searching pages is free. */
function isSearch({ type, action }: JsonObject): boolean {
  return type === "web_search_call" && (!isObject(action) || (action.type ?? "search") === "search");
}

function hasGivenUp({ status, incomplete_details: details }: JsonObject): boolean {
  return status === "incomplete" && isObject(details) && details.reason === "content_filter";
}

function writeItem(item: JsonObject, meter: Meter): void {
  writeBeginning(item, meter);
  writeContent(item, meter);
}

/** writeBeginning counts the beginning of an item: the name of a call, but nothing for messages and reasoning. */
function writeBeginning({ type, name }: JsonObject, meter: Meter): void {
  if (type === "message" || type === "reasoning") return;
  if (isFilledText(name)) meter.countText(name);
  // The vendor's tools at work, and unknown types.
  else if (typeof type === "string") meter.countText("");
}

function writeContent(item: JsonObject, meter: Meter): void {
  const { content, summary, arguments: args, input, encrypted_content } = item;
  for (const parts of [summary, content]) {
    if (!Array.isArray(parts)) continue;
    for (const part of parts) if (isObject(part)) countTextOf(part.text ?? part.refusal, meter);
  }
  countTextOf(args, meter);
  countTextOf(input, meter);
  if (encrypted_content) meter.countText("");
}
