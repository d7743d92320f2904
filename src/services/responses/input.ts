/**
 * Resolves what the request of a response refers to.
 *
 * `previous_response_id` stands for the conversation that ended in that response, and an `item_reference` for an item
 * of any stored response. Both are looked up in the account's own responses only. A missing one is refused, never left
 * out.
 *
 * Inserted items count as if they had been sent: a request that would exceed the body limit is refused before it does.
 */
import type { CreateResponseRequestSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { BodyRoom, Remembered } from "../../call/call.ts";
import { invalidValue, itemNotFound, missingField, previousResponseNotFound } from "../../call/refusals.ts";
import { answerIdOf } from "../../families/relayed-ids.ts";
import { runInSlices } from "../../runtime/cooperative.ts";
import type { Link, StoredResponse } from "../../storage/answers/responses.ts";
import { isFilledText, type JsonObject, type JsonValue, longJson, readLongAnswer } from "../../wire/json.ts";
import { jsonBytes } from "../../wire/long/write-json.ts";
import { parseExactly } from "../../wire/scan/parse-exactly.ts";
import type { Wire } from "../../wire/wire.ts";
import { type AccountResponses, asOutputItemId, bytesOf, inputItemsOf, outputOf, readStored } from "./kept.ts";

type CreateRequest = Wire<typeof CreateResponseRequestSchema>;

export interface Resolved {
  /** request contains no references. */
  readonly request: CreateRequest;
  /** items are the new items of this request. If the previous response is not stored, they are all items. */
  readonly items: readonly JsonObject[];
  /** previousId is the stored response that the request continues from. */
  readonly previousId: string | null;
  /** conversation is the whole conversation as JSON lists, for a connection that remembers it. */
  readonly conversation: readonly string[];
}

/** resolve resolves a request. Throws a Refusal. */
export async function resolve(
  request: CreateRequest,
  kept: AccountResponses,
  body: BodyRoom,
  remembered?: Remembered,
): Promise<Resolved> {
  const { previousResponseId: previousId } = request.message();
  const asked = itemsOf(request.json().input ?? null);
  const items = asked.some(isReference) ? await replaceReferences(asked, kept, body) : asked;
  const withInput = (input: JsonObject[]) =>
    body.bytes < longJson ? request.with({ input }) : request.rebuiltWith({ input }).writeInSlices();
  if (previousId === undefined) {
    const resolved = items === asked ? request : await withInput([...items]);
    return { request: resolved, items, previousId: null, conversation: remembered ? [await textOf(items, body)] : [] };
  }
  const known = remembered?.find(previousId);
  if (known) {
    const all = [...(await readPieces(known.pieces, body)), ...items];
    const continuation = known.isKept ? { items, previousId } : { items: all, previousId: null };
    const conversation = [...known.pieces, await textOf(items, body)];
    return { request: await withInput(all), ...continuation, conversation };
  }
  const earlier = await conversationTo(previousId, kept, body);
  const conversation = remembered ? [await textOf(earlier, body), await textOf(items, body)] : [];
  return { request: await withInput([...earlier, ...items]), items, previousId, conversation };
}

/** readPieces parses a conversation piece by piece. */
async function readPieces(pieces: readonly string[], body: BodyRoom): Promise<JsonObject[]> {
  const items: JsonObject[] = [];
  for (const piece of pieces) {
    body.grow(Buffer.byteLength(piece), "previous_response_id");
    for (const item of await itemsIn(piece)) items.push(item);
  }
  return items;
}

/** itemsIn parses stored items, in slices if they are long. */
async function itemsIn(text: string): Promise<readonly JsonObject[]> {
  const isLong = text.length >= longJson;
  return (isLong ? await runInSlices(readLongAnswer(Buffer.from(text))) : parseExactly(text)) as JsonObject[];
}

async function textOf(items: readonly JsonObject[], body: BodyRoom): Promise<string> {
  if (body.bytes < longJson) return JSON.stringify(items);
  return (await runInSlices(jsonBytes([...items]))).toString();
}

function itemsOf(input: JsonValue): readonly JsonObject[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  return Array.isArray(input) ? (input as JsonObject[]) : [];
}

/** isReference recognises references; clients may omit their type. */
function isReference({ type = null, role, id }: JsonObject): boolean {
  return type === "item_reference" || (type === null && role === undefined && typeof id === "string");
}

/** responseIdOf returns the id of the response that an item belongs to: `msg_<response>_<place>`. */
function responseIdOf(itemId: string): string {
  return `resp_${answerIdOf(itemId)}`;
}

async function replaceReferences(
  items: readonly JsonObject[],
  kept: AccountResponses,
  body: BodyRoom,
): Promise<readonly JsonObject[]> {
  const nameless = items.findIndex((item) => isReference(item) && !isFilledText(item.id));
  if (nameless !== -1) throw missingField(`input[${nameless}].id`);
  const found = await findItems(countReferences(items), kept, body);
  return items.map((item) => {
    if (!isReference(item)) return item;
    const target = found.get(item.id as string);
    if (!target) throw itemNotFound(item.id as string);
    return target;
  });
}

/** countReferences counts the references to each item, by its id. */
function countReferences(items: readonly JsonObject[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const item of items) {
    if (isReference(item)) times.set(item.id as string, (times.get(item.id as string) ?? 0) + 1);
  }
  return times;
}

/** findItems finds items by their ids. `times` is how often each is inserted. */
async function findItems(
  times: ReadonlyMap<string, number>,
  kept: AccountResponses,
  body: BodyRoom,
): Promise<Map<string, JsonObject>> {
  const { store, accountId, now } = kept;
  const ids = new Set([...times.keys()].map((id) => responseIdOf(asOutputItemId(id))));
  const found = new Map<string, JsonObject>();
  for await (const response of readStored(kept, await store.sizes(accountId, [...ids], now), "input")) {
    const answered = outputOf(response).map((item) => ({ id: item.id as string, item }));
    for (const { id, item } of [...(inputItemsOf(response) ?? []), ...answered]) {
      const count = times.get(id);
      if (count === undefined) continue;
      body.grow(count * bytesOf(item), "input");
      found.set(id, item);
    }
  }
  return found;
}

/** conversationTo returns the conversation up to a response and its output, without instructions. */
async function conversationTo(id: string, kept: AccountResponses, body: BodyRoom): Promise<JsonObject[]> {
  const line = await responseChain(id, kept);
  const items: JsonObject[] = [];
  let next = 0;
  for await (const response of readStored(kept, line, "previous_response_id")) {
    const expected = line[next++]?.id;
    // A response was deleted meanwhile.
    if (expected !== undefined && response.id !== expected) throw previousResponseNotFound(expected);
    const output = outputOf(response);
    const input = inputTextOf(response);
    body.grow(Buffer.byteLength(input) + bytesOf(output), "previous_response_id");
    for (const item of await itemsIn(input)) items.push(item);
    for (const item of output) items.push(item);
  }
  const missing = line[next]?.id;
  if (missing !== undefined) throw previousResponseNotFound(missing);
  return items;
}

/** responseChain returns a response and all before it, oldest first. */
async function responseChain(id: string, { store, accountId, now }: AccountResponses): Promise<Link[]> {
  const line = (await store.line(accountId, id, now)).reverse();
  const [first] = line;
  if (!first) throw previousResponseNotFound(id);
  if (first.previousId !== null) throw previousResponseNotFound(first.previousId);
  return line;
}

function inputTextOf({ id, input }: StoredResponse): string {
  if (input !== null) return input;
  const why = `the input of the response '${id}' was too large to keep; send the conversation as input`;
  throw invalidValue("previous_response_id", why);
}
