/**
 * ListResponseInputItems: pages through the items of a stored response's request and of the conversation that it
 * continued from. Responses are read one at a time, and only as far as the page needs.
 */
import {
  type ListResponseInputItemsRequestSchema,
  ResponseInputItemListSchema,
} from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { Answer, Call } from "../../call/call.ts";
import { invalidValue, responseInputNotKept, responseNotFound } from "../../call/refusals.ts";
import { withToldTools } from "../../families/tools/told-tools.ts";
import { callerWaiting } from "../../pipeline/check/deadline.ts";
import type { Link, ResponseStore } from "../../storage/answers/responses.ts";
import type { JsonObject } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import { asked } from "../asked.ts";
import { type AccountResponses, bytesOf, inputItemsOf, outputOf, readStored } from "./kept.ts";

export interface InputItemsParts {
  readonly store: ResponseStore;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

type ListCall = Call<typeof ListResponseInputItemsRequestSchema>;

const defaultLimit = 20;
/** maxPageBytes is the most JSON on a page of more than one item, in bytes. */
const maxPageBytes = 8 * 1024 * 1024;

export async function listInputItems(
  { request, caller, body: room, header, signal }: ListCall,
  { store, clock }: InputItemsParts,
): Promise<Answer<typeof ResponseInputItemListSchema>> {
  const { id = "", limit = defaultLimit, order = "desc", after, before, include } = request.message();
  const kept = { store, accountId: caller.accountId, now: clock() };
  const line = await store.line(kept.accountId, id, kept.now);
  if (line.length === 0) throw responseNotFound(id);
  await room.openAnswer(callerWaiting({ header, signal })).hold(mostBytesOf(line));
  const items = itemsOf(id, line, kept, order === "desc");
  const { page, hasMore } = await pageOf(items, new Page(limit, asked(after), asked(before)));
  const showsSeals = include.includes("reasoning.encrypted_content");
  const data = page.map((item) => shownItem(listedItem(item), showsSeals));
  const [first_id, last_id] = [page[0]?.id ?? null, page.at(-1)?.id ?? null];
  const body = Wire.ofJson(ResponseInputItemListSchema, { object: "list", data, first_id, last_id, has_more: hasMore });
  return { kind: "whole", body };
}

/** mostBytesOf returns the most bytes that a page of these responses takes with the response that is being read for it. */
function mostBytesOf(line: readonly Link[]): number {
  const sizes = line.map(({ bytes }) => bytes);
  const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
  return Math.min(total, maxPageBytes + Math.max(...sizes));
}

/** itemsOf yields the items in the requested order. `line` is newest first. */
async function* itemsOf(
  id: string,
  line: readonly Link[],
  kept: AccountResponses,
  newestFirst: boolean,
): AsyncGenerator<JsonObject> {
  for await (const response of readStored(kept, newestFirst ? line : line.toReversed(), "id")) {
    const input = inputItemsOf(response)?.map(({ id, item }) => ({ ...item, id }));
    if (!input) throw responseInputNotKept(response.id);
    const items = response.id === id ? input : [...input, ...outputOf(response)];
    yield* newestFirst ? items.reverse() : items;
  }
}

/** pageOf throws a Refusal if `after` or `before` is not found. */
async function pageOf(items: AsyncIterable<JsonObject>, page: Page): Promise<{ page: JsonObject[]; hasMore: boolean }> {
  for await (const item of items) if (page.take(item)) break;
  return page.taken();
}

/** Page collects the items of a page. Paging backwards returns the items just before `before`. */
class Page {
  readonly #limit: number;
  readonly #after: string | undefined;
  readonly #before: string | undefined;
  readonly #items: JsonObject[] = [];
  #bytes = 0;
  #hasMore = false;
  #hasBegun: boolean;
  #hasEnded: boolean;

  constructor(limit: number, after: string | undefined, before: string | undefined) {
    this.#limit = limit;
    this.#after = after;
    this.#before = before;
    this.#hasBegun = after === undefined;
    this.#hasEnded = before === undefined;
  }

  /** take returns true when the page needs no more items. */
  take(item: JsonObject): boolean {
    if (!this.#hasBegun) {
      this.#hasBegun = item.id === this.#after;
      return false;
    }
    if (this.#before !== undefined && item.id === this.#before) {
      this.#hasEnded = true;
      return true;
    }
    if (this.#before === undefined && this.#isFull(bytesOf(item))) {
      this.#hasMore = true;
      return true;
    }
    this.#items.push(item);
    this.#bytes += bytesOf(item);
    // Going backwards, the oldest collected item lies before the page.
    while (this.#items.length > this.#limit || (this.#items.length > 1 && this.#bytes > maxPageBytes)) this.#drop();
    return false;
  }

  #isFull(more: number): boolean {
    return this.#items.length >= this.#limit || (this.#items.length > 0 && this.#bytes + more > maxPageBytes);
  }

  #drop(): void {
    this.#bytes -= bytesOf(this.#items.shift() ?? []);
    this.#hasMore = true;
  }

  taken(): { page: JsonObject[]; hasMore: boolean } {
    if (!this.#hasBegun) throw invalidValue("after", "no item of this response has this id");
    if (!this.#hasEnded) throw invalidValue("before", "no item of this response has this id, or none after `after`");
    return { page: this.#items, hasMore: this.#hasMore };
  }
}

/** shownItem returns an item without what is for the model, or for a server of tools, only. */
function shownItem(item: JsonObject, showsSeals: boolean): JsonObject {
  const { encrypted_content: _, ...shown } = item;
  return item.type === "reasoning" && !showsSeals ? shown : withToldTools(item);
}

/** hasStatus matches the types of items that have been done: messages, calls and results. */
const hasStatus = /^message$|_(?:call|output)$/;

/**
 * listedItem returns an item as lists have it. Callers may leave out of an item what clients in typed languages need there: its type, the
 * list of its content, and the status of messages, calls and results.
 */
export function listedItem(item: JsonObject): JsonObject {
  const { type = "message", content, ...rest } = item;
  const status = hasStatus.test(`${type}`) && (item.status ?? null) === null ? { status: "completed" } : {};
  const listed = { ...rest, type, ...status };
  if (content === undefined) return listed;
  return { ...listed, content: typeof content === "string" ? [textPart(item, content)] : content };
}

function textPart({ role }: JsonObject, text: string): JsonObject {
  return role === "assistant" ? { type: "output_text", text, annotations: [] } : { type: "input_text", text };
}
