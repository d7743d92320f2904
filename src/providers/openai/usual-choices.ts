/**
 * Completes the choices of chats to what OpenAI's clients read: an index, a message or the next part of one, its content as a text, the role
 * where a message begins to say something, a reason where a whole answer has none, an empty message where a filter took it, and the
 * reason in OpenAI's words. OpenAI's SDKs throw at a stream without a role, or whose only choice is not the first, and lose what stands
 * elsewhere. Of text completions only the reason changes, and a text that is none. All else passes as it came.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { isFilledText, isObject, mappedList, objectsIn, scalarText } from "../../wire/json.ts";
import { listedSources, withSources } from "../frames/listed-sources.ts";
import { chatWordOf, endsOfChat, endsOfText, type OwnEnd, ownEnd } from "../usage/finish-word.ts";
import { indexOf } from "./choices.ts";
import { reasonFor } from "./frames.ts";
import { withPlainContent } from "./plain-content.ts";

/** changesOfAnswer returns the members that are others in a usual answer; undefined where none is. */
export function changesOfAnswer(answer: JsonObject, operation: Operation): JsonObject | undefined {
  const { choices } = answer;
  if (!Array.isArray(choices)) return undefined;
  if (operation !== "chat" && operation !== "completions") return undefined;
  const sources = operation === "chat" ? listedSources(answer) : [];
  const usualOf = (choice: JsonObject, i: number) =>
    operation === "chat" ? usualChoice(choice, i, sources) : wholeText(choice);
  const usual = mappedList(objectsIn(choices), usualOf);
  return usual === choices ? undefined : { choices: usual };
}

function usualChoice(choice: JsonObject, place: number, sources: ReturnType<typeof listedSources>): JsonObject {
  const { index = null, text, finish_reason = null } = choice;
  const isFiltered = chatWordOf(finish_reason) === "content_filter";
  const taken = isFiltered ? { content: null, refusal: null } : undefined;
  const told = choice.message ?? (typeof text === "string" ? { content: text } : taken);
  const plain = isObject(told) ? withSources(withPlainContent(told), sources) : undefined;
  const message = plain && !isFilledText(plain.role) ? { ...plain, role: "assistant" } : plain;
  const own = typeof index === "number" ? index : index === null ? place : indexOf(choice);
  const reason = reasonFor(finish_reason, message ?? {});
  const end = ownEnd(reason, endsOfChat);
  const isUsual = own === index && reason === finish_reason && !end && (!message || message === choice.message);
  if (isUsual) return choice;
  return { ...endedBy({ ...choice, finish_reason: reason }, end), index: own, ...(message ? { message } : {}) };
}

function wholeText(choice: JsonObject): JsonObject {
  const { finish_reason = null } = choice;
  const reason = reasonFor(finish_reason, {});
  return usualText(reason === finish_reason ? choice : { ...choice, finish_reason: reason });
}

/** usualText returns a choice of a text completion that has a text and ends in OpenAI's words; the same object where it does. */
function usualText(choice: JsonObject): JsonObject {
  const { finish_reason = null, text } = choice;
  const told = text === undefined || typeof text === "string" ? choice : { ...choice, text: scalarText(text) };
  return endedBy(told, ownEnd(finish_reason, endsOfText));
}

/** endedBy returns a choice with this end, beside an own word that its server has told already. */
function endedBy(choice: JsonObject, end: OwnEnd | undefined): JsonObject {
  if (!end) return choice;
  const { native_finish_reason: told = null } = choice;
  return { ...choice, ...end, ...(told === null ? {} : { native_finish_reason: told }) };
}

/** usualTexts returns the usual choices of a chunk of a text completion; undefined where they are usual. */
export function usualTexts({ choices = null }: JsonObject): JsonValue[] | undefined {
  if (!Array.isArray(choices)) return undefined;
  const usual = mappedList(objectsIn(choices), usualText);
  return usual === choices ? undefined : usual;
}

/** UsualChunks completes the chunks of one stream of chat. */
export class UsualChunks {
  /** The choices whose role has been told, by index. */
  readonly #told = new Set<JsonValue>();
  /** The first halves of characters whose second ones come with the next texts, by index. */
  readonly #halves = new Map<JsonValue, string>();
  readonly #isOne: boolean;
  readonly #lengthSaid: () => number;
  #first: JsonValue | undefined;

  /** `asked` is the number of choices that were asked for. `lengthSaid` returns the length of the text so far. */
  constructor(asked: number, lengthSaid: () => number) {
    this.#isOne = asked === 1;
    this.#lengthSaid = lengthSaid;
  }

  /** choices returns the usual choices of a chunk; undefined where they are usual. */
  choices({ choices = null }: JsonObject): JsonValue[] | undefined {
    if (!Array.isArray(choices)) return [];
    const usual = mappedList(objectsIn(choices), (choice) => this.#usual(choice));
    return usual === choices ? undefined : usual;
  }

  /** isWithin is whether a character has begun that is not whole yet: the next chunks are to be read. */
  get isWithin(): boolean {
    return this.#halves.size > 0;
  }

  #usual(choice: JsonObject): JsonObject {
    const index = this.#own(indexOf(choice));
    const said = this.#joined(index, deltaIn(choice, this.#lengthSaid));
    const delta = this.#lacksRole(index, said) ? { ...said, role: "assistant" } : said;
    // Some servers write with each chunk that there is no reason yet.
    const { finish_reason: told = null } = choice;
    const end = ownEnd(told, endsOfChat);
    if (index === choice.index && delta === choice.delta && !end && choice.finish_reason !== undefined) return choice;
    // A client that reads `message` or `text`, too, would have the same words twice.
    const { message: _, text: __, ...rest } = choice;
    return endedBy({ ...(said === choice.delta ? choice : rest), index, delta, finish_reason: told }, end);
  }

  /** #own returns the index of a choice: the only one has 0, whatever its server counts from, for SDKs throw at a list with a gap. */
  #own(index: JsonValue): JsonValue {
    this.#first ??= index;
    if (!this.#isOne || (index !== this.#first && index !== 0)) return index;
    return index === this.#first ? 0 : this.#first;
  }

  /**
   * #joined returns a delta with whole characters. What cuts texts by UTF-16, as proxies that only seem to stream, cuts an emoji into two, and
   * what is told of each half is no character.
   */
  #joined(index: JsonValue, delta: JsonObject): JsonObject {
    const { content } = delta;
    if (typeof content !== "string" || content === "") return delta;
    const held = this.#halves.get(index) ?? "";
    const half = firstHalf.exec(content)?.[0] ?? "";
    if (held === "" && half === "") return delta;
    if (half === "") this.#halves.delete(index);
    else this.#halves.set(index, half);
    const text = content.slice(0, content.length - half.length);
    return { ...delta, content: secondHalf.test(content) ? held + text : text };
  }

  #lacksRole(index: JsonValue, delta: JsonObject): boolean {
    if (this.#told.has(index)) return false;
    const hasRole = isFilledText(delta.role);
    const begins = saying.some((key) => (delta[key] ?? "") !== "");
    if (hasRole || begins) this.#told.add(index);
    return begins && !hasRole;
  }
}

/** firstHalf finds the first half of a character at the end of a text, secondHalf a second one at its beginning. */
const [firstHalf, secondHalf] = [/[\ud800-\udbff]$/, /^[\udc00-\udfff]/];

/** saying are the members of a message that say something of it. */
const saying = [
  "content",
  "refusal",
  "tool_calls",
  "function_call",
  "audio",
  "reasoning_content",
  "reasoning",
] as const;

/** deltaIn returns the next part of a message. Some servers have it in `message`, as in a unary answer, or in `text`, as in a completion. */
function deltaIn({ delta = null, message, text }: JsonObject, lengthSaid: () => number): JsonObject {
  const told = delta ?? message;
  if (isObject(told)) return withPlainContent(told, typeof told.content === "string" ? 0 : lengthSaid());
  return isFilledText(text) ? { content: text } : {};
}
