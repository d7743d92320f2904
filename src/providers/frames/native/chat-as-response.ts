/** Answers and chunks of a chat in place of a response → a response and its events: servers that take any request for chat send them. */
import { nothingUsed } from "../../../call/usage.ts";
import { newId } from "../../../runtime/ids.ts";
import { definedFields, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";
import { isFailedEnd } from "../../errors/errors-in-answers.ts";
import { eventsOfResponse } from "../../responses/frames.ts";
import { ChatUsageReader } from "../../usage/chat-counts.ts";
import { chatWordOf, isFinished } from "../../usage/finish-word.ts";
import { writeUsage } from "../../usage/write-usage.ts";
import { callsIn, firstOf, headOfChat, messageIn, namedCall, textIn, thinkingIn } from "./chat-said.ts";
import { type AnyItem, ResponseItem } from "./response-item.ts";

/** responseOfChat returns the response that an answer of a chat is; undefined where it says nothing, or ended by a failure. */
export function responseOfChat(answer: JsonObject): JsonObject | undefined {
  if (isFailedEnd(firstOf(answer.choices).finish_reason)) return undefined;
  const events = new ChatAsResponse();
  events.events(answer);
  const { response } = events.last() ?? {};
  return response as JsonObject | undefined;
}

/** ChatAsResponse makes the events of a response of the chunks of one stream. */
export class ChatAsResponse {
  readonly #items: ResponseItem[] = [];
  /** The calls by their index in the chat: their pieces may come in turns. */
  readonly #calls = new Map<JsonValue, ResponseItem>();
  readonly #counts = new ChatUsageReader();
  #head: JsonObject = { id: newId("resp"), object: "response", created_at: Math.floor(Date.now() / 1000) };
  /** The item of text, refusal or thinking that goes on. */
  #open: ResponseItem | undefined;
  #reason: JsonValue = null;
  #hasBegun = false;
  #isOver = false;
  #hasUsage = false;

  /** events returns what a chunk says, in the events of a response. */
  events(chunk: JsonObject): JsonObject[] {
    const choice = firstOf(chunk.choices);
    const piece = messageIn(choice);
    this.#head = { ...this.#head, ...headOfChat(chunk) };
    if (this.#counts.take(chunk)) this.#hasUsage = true;
    if (isFinished(choice.finish_reason)) this.#reason = choice.finish_reason as JsonValue;
    return [
      ...this.#begin(),
      ...this.#say("reasoning", thinkingIn(piece)),
      ...this.#say("message", textIn(piece.content)),
      ...this.#say("refusal", textOrEmpty(piece.refusal)),
      ...callsIn(piece).flatMap((call, place) => this.#call(call, place)),
    ];
  }

  /** last returns the event that ends the response; undefined before anything was said, and once it has been returned. */
  last(): JsonObject | undefined {
    const word = chatWordOf(this.#reason);
    const reason = word === "length" ? "max_output_tokens" : word === "content_filter" ? word : undefined;
    if (this.#isOver || (this.#items.length === 0 && reason === undefined)) return undefined;
    this.#isOver = true;
    const status = reason === undefined ? "completed" : "incomplete";
    const incomplete_details = reason === undefined ? null : { reason };
    const output = this.#items.map((item) => item.whole(status));
    const response = { ...this.#head, status, incomplete_details, output, ...this.#told() };
    return { type: `response.${status}`, response };
  }

  /** rest returns the events that end what has not ended, before the last one. */
  rest(): JsonObject[] {
    return this.#items.flatMap((item) => item.end());
  }

  /** lingerMs is how long the usage and the end mark of an ended answer are waited for, in milliseconds. */
  get lingerMs(): number | undefined {
    if (!this.hasEnded) return undefined;
    return this.#hasUsage ? 1_000 : 5_000;
  }

  /** hasEnded is whether the chat has said why it ended. */
  get hasEnded(): boolean {
    return this.#reason !== null;
  }

  /** hasSaid is whether there is anything of an answer. */
  get hasSaid(): boolean {
    return this.#items.length > 0;
  }

  #begin(): JsonObject[] {
    if (this.#hasBegun) return [];
    this.#hasBegun = true;
    const begun = { ...this.#head, status: "in_progress", output: [] };
    return eventsOfResponse(begun).slice(0, 2);
  }

  #say(kind: AnyItem["kind"], text: string): JsonObject[] {
    if (text === "") return [];
    if (this.#open?.kind === kind) return this.#open.add(text);
    const ended = this.#open?.end() ?? [];
    this.#open = this.#added({ kind, id: "", name: "" });
    return [...ended, ...this.#open.begin(), ...this.#open.add(text)];
  }

  #call(call: JsonObject, place: number): JsonObject[] {
    const { isCustom, id, name, input } = namedCall(call);
    const key = call.index ?? place;
    const known = this.#calls.get(key);
    if (known) return known.add(input);
    const ended = this.#open?.end() ?? [];
    this.#open = undefined;
    const begun = this.#added({ kind: isCustom ? "custom" : "function", id: id || newId("call"), name });
    this.#calls.set(key, begun);
    return [...ended, ...begun.begin(), ...begun.add(input)];
  }

  #added(item: AnyItem): ResponseItem {
    const added = new ResponseItem(item, this.#items.length);
    this.#items.push(added);
    return added;
  }

  /** #told returns the usage that was told, by the names of responses. Sums that were not told are not written: they are counted. */
  #told(): JsonObject {
    if (!this.#hasUsage) return {};
    const { reported } = this.#counts;
    const { input, output } = reported;
    const usage = writeUsage("responses", { ...nothingUsed, ...definedUsage(reported) });
    const { input_tokens, input_tokens_details, output_tokens, output_tokens_details, total_tokens } = usage;
    return {
      usage: definedFields({
        ...(input === undefined ? {} : { input_tokens, input_tokens_details }),
        ...(output === undefined ? {} : { output_tokens, output_tokens_details }),
        ...(input === undefined || output === undefined ? {} : { total_tokens }),
      }),
    };
  }
}

function definedUsage(reported: ChatUsageReader["reported"]) {
  return Object.fromEntries(Object.entries(reported).filter(([, count]) => typeof count === "number"));
}
