/**
 * What a request for a response refers to → the items themselves.
 *
 * `previous_response_id` stands for the conversation that ended in that response, and an `item_reference` for an item of
 * any kept response; each is looked for among the account's own alone. What is not there is refused, never left out.
 */
import type { CreateResponseRequestSchema } from "../../gen/modelgateway/v1/responses_pb.ts";
import { invalidValue, itemNotFound, missingField, previousResponseNotFound } from "../errors.ts";
import type { ResponseStore, StoredResponse } from "../storage/responses.ts";
import type { JsonObject, JsonValue } from "../wire/json.ts";
import type { Wire } from "../wire/wire.ts";

export interface Resolved {
  /** Refers to nothing any more. */
  readonly request: Wire<typeof CreateResponseRequestSchema>;
  /** The items that are new in this request. */
  readonly items: readonly JsonObject[];
  readonly previousId: string | null;
}

/** Throws a Refusal. */
export async function resolve(
  request: Wire<typeof CreateResponseRequestSchema>,
  accountId: string,
  store: ResponseStore,
  now: number,
): Promise<Resolved> {
  const { previousResponseId: previousId } = request.message();
  const asked = itemsOf(request.json().input ?? null);
  const find = (ids: readonly string[]) => store.find(accountId, ids, now);
  const items = asked.some(isReference) ? await dereferenced(asked, find) : asked;
  if (previousId === undefined) {
    return { request: items === asked ? request : request.with({ input: [...items] }), items, previousId: null };
  }
  const earlier = conversationIn(await lineTo(previousId, accountId, store, now));
  return { request: request.with({ input: [...earlier, ...items] }), items, previousId };
}

/** The longest conversation that is gone on from, in characters of its JSON: more would not fit a model anyway. */
const longestConversation = 16 * 1024 * 1024;

/** Reads a response and all before it, oldest first. */
async function lineTo(id: string, accountId: string, store: ResponseStore, now: number): Promise<StoredResponse[]> {
  const links = (await store.line(accountId, id, now)).reverse();
  const [first] = links;
  if (!first) throw previousResponseNotFound(id);
  if (first.previousId !== null) throw previousResponseNotFound(first.previousId);
  if (links.reduce((sum, { length }) => sum + length, 0) > longestConversation) {
    throw invalidValue("previous_response_id", "the conversation that it ends is too long to go on from");
  }
  const ids = links.map((link) => link.id);
  const found = new Map((await store.find(accountId, ids, now)).map((response) => [response.id, response]));
  return ids.map((each) => {
    const response = found.get(each);
    if (!response) throw previousResponseNotFound(each);
    return response;
  });
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
  return `resp_${/^[a-z]+_(.+)_\d+$/.exec(itemId)?.[1] ?? ""}`;
}

async function dereferenced(
  items: readonly JsonObject[],
  find: (ids: readonly string[]) => Promise<StoredResponse[]>,
): Promise<JsonObject[]> {
  const nameless = items.findIndex((item) => isReference(item) && (typeof item.id !== "string" || item.id === ""));
  if (nameless !== -1) throw missingField(`input[${nameless}].id`);
  const ids = new Set(items.filter(isReference).map(({ id }) => responseIdOf(id as string)));
  const found = (await find([...ids])).flatMap(outputOf);
  const byId = new Map(found.map((item) => [item.id, item]));
  return items.map((item) => {
    if (!isReference(item)) return item;
    const target = byId.get(item.id as string);
    if (!target) throw itemNotFound(item.id as string);
    return target;
  });
}

/** Puts together what was said. Instructions are none of it. */
function conversationIn(line: readonly StoredResponse[]): JsonObject[] {
  return line.flatMap((response) => {
    if (response.input === null) {
      const why = `the input of the response '${response.id}' was too large to keep; send the conversation as input`;
      throw invalidValue("previous_response_id", why);
    }
    return [...(JSON.parse(response.input) as JsonObject[]), ...outputOf(response)];
  });
}

function outputOf({ response }: StoredResponse): JsonObject[] {
  return (JSON.parse(response) as { output: JsonObject[] }).output;
}
