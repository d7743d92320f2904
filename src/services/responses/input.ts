/**
 * What a request for a response refers to → the items themselves.
 *
 * `previous_response_id` stands for the conversation that ended in that response, and an `item_reference` for an item of
 * any kept response; each is looked for among the account's own alone. What is not there is refused, never left out.
 *
 * What is put in counts as if it had been sent: a request that would grow beyond what a body may have is refused before it does.
 */
import type { CreateResponseRequestSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { BodyRoom, Remembered } from "../../call/call.ts";
import { invalidValue, itemNotFound, missingField, previousResponseNotFound } from "../../call/refusals.ts";
import { answerIdOf } from "../../families/relayed-ids.ts";
import { runInSlices } from "../../runtime/cooperative.ts";
import type { Link, StoredResponse } from "../../storage/answers/responses.ts";
import { type JsonObject, type JsonValue, longJson, readLongAnswer } from "../../wire/json.ts";
import { jsonBytes } from "../../wire/long/write-json.ts";
import type { Wire } from "../../wire/wire.ts";
import { asOutputItemId, bytesOf, inputItemsOf, type KeptResponses, outputOf, readKept } from "./kept.ts";

type CreateRequest = Wire<typeof CreateResponseRequestSchema>;

export interface Resolved {
  /** Refers to nothing any more. */
  readonly request: CreateRequest;
  /** The items that are new in this request. Where what it goes on from is not kept, all are. */
  readonly items: readonly JsonObject[];
  /** The kept response that it goes on from. */
  readonly previousId: string | null;
  /** For who remembers it: the conversation with this request, as lists in JSON. */
  readonly conversation: readonly string[];
}

/** Throws a Refusal. */
export async function resolve(
  request: CreateRequest,
  kept: KeptResponses,
  body: BodyRoom,
  remembered?: Remembered,
): Promise<Resolved> {
  const { previousResponseId: previousId } = request.message();
  const asked = itemsOf(request.json().input ?? null);
  const items = asked.some(isReference) ? await dereferenced(asked, kept, body) : asked;
  const withInput = (input: JsonObject[]) =>
    body.bytes < longJson ? request.with({ input }) : request.rebuiltWith({ input }).writeInSlices();
  if (previousId === undefined) {
    const resolved = items === asked ? request : await withInput([...items]);
    return { request: resolved, items, previousId: null, conversation: remembered ? [await textOf(items, body)] : [] };
  }
  const known = remembered?.find(previousId);
  if (known) {
    const all = [...(await readPieces(known.pieces, body)), ...items];
    const goesOn = known.isKept ? { items, previousId } : { items: all, previousId: null };
    const told = [...known.pieces, await textOf(items, body)];
    return { request: await withInput(all), ...goesOn, conversation: told };
  }
  const earlier = await conversationTo(previousId, kept, body);
  const conversation = remembered ? [await textOf(earlier, body), await textOf(items, body)] : [];
  return { request: await withInput([...earlier, ...items]), items, previousId, conversation };
}

/** Reads a conversation piece by piece. */
async function readPieces(pieces: readonly string[], body: BodyRoom): Promise<JsonObject[]> {
  const items: JsonObject[] = [];
  for (const piece of pieces) {
    body.grow(Buffer.byteLength(piece), "previous_response_id");
    for (const item of await itemsIn(piece)) items.push(item);
  }
  return items;
}

/** Reads items that were kept, in turns where they are long. */
async function itemsIn(text: string): Promise<readonly JsonObject[]> {
  const isLong = text.length >= longJson;
  return (isLong ? await runInSlices(readLongAnswer(Buffer.from(text))) : JSON.parse(text)) as JsonObject[];
}

async function textOf(items: readonly JsonObject[], body: BodyRoom): Promise<string> {
  if (body.bytes < longJson) return JSON.stringify(items);
  return (await runInSlices(jsonBytes([...items]))).toString();
}

function itemsOf(input: JsonValue): readonly JsonObject[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  return Array.isArray(input) ? (input as JsonObject[]) : [];
}

/** Clients may leave the type of a reference out. */
function isReference({ type = null, role, id }: JsonObject): boolean {
  return type === "item_reference" || (type === null && role === undefined && typeof id === "string");
}

/** An item's id holds its response's: `msg_<response>_<place>`. */
function responseIdOf(itemId: string): string {
  return `resp_${answerIdOf(itemId)}`;
}

async function dereferenced(
  items: readonly JsonObject[],
  kept: KeptResponses,
  body: BodyRoom,
): Promise<readonly JsonObject[]> {
  const nameless = items.findIndex((item) => isReference(item) && (typeof item.id !== "string" || item.id === ""));
  if (nameless !== -1) throw missingField(`input[${nameless}].id`);
  const found = await itemsNamed(timesNamed(items), kept, body);
  return items.map((item) => {
    if (!isReference(item)) return item;
    const target = found.get(item.id as string);
    if (!target) throw itemNotFound(item.id as string);
    return target;
  });
}

/** Counts how often each item is referred to, by its id. */
function timesNamed(items: readonly JsonObject[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const item of items) {
    if (isReference(item)) times.set(item.id as string, (times.get(item.id as string) ?? 0) + 1);
  }
  return times;
}

/** Finds items by their ids. `times` says how often each is to be put in. */
async function itemsNamed(
  times: ReadonlyMap<string, number>,
  kept: KeptResponses,
  body: BodyRoom,
): Promise<Map<string, JsonObject>> {
  const { store, accountId, now } = kept;
  const ids = new Set([...times.keys()].map((id) => responseIdOf(asOutputItemId(id))));
  const found = new Map<string, JsonObject>();
  for await (const response of readKept(kept, await store.sizes(accountId, [...ids], now), "input")) {
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

/** Puts together what was said up to a response, and in it. Instructions are none of it. */
async function conversationTo(id: string, kept: KeptResponses, body: BodyRoom): Promise<JsonObject[]> {
  const line = await lineTo(id, kept);
  const items: JsonObject[] = [];
  let next = 0;
  for await (const response of readKept(kept, line, "previous_response_id")) {
    const expected = line[next++]?.id;
    // One was deleted meanwhile.
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

/** Tells of a response and all before it, oldest first. */
async function lineTo(id: string, { store, accountId, now }: KeptResponses): Promise<Link[]> {
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
