/**
 * Completes the choices of chats to what OpenAI's clients read: an index, a message or the next part of one, its content as a text, and the
 * role where a message begins to say something. OpenAI's SDKs throw at a stream without a role, and lose what stands elsewhere. All else
 * passes as it came.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { isObject, mappedList } from "../../wire/json.ts";
import { indexOf } from "./choices.ts";
import { withPlainContent } from "./plain-content.ts";

/** changesOfAnswer returns the members that are others in a usual answer; undefined where none is. */
export function changesOfAnswer({ choices }: JsonObject, operation: Operation): JsonObject | undefined {
  if (operation !== "chat" || !Array.isArray(choices)) return undefined;
  const usual = mappedList(choices, (choice, i) => (isObject(choice) ? usualChoice(choice, i) : choice));
  return usual === choices ? undefined : { choices: usual };
}

function usualChoice(choice: JsonObject, place: number): JsonObject {
  const { index = null, text } = choice;
  const told = choice.message ?? (typeof text === "string" ? { content: text } : undefined);
  const message = isObject(told) ? withPlainContent(told) : undefined;
  const isIndexed = typeof index === "number";
  const hasRole = !message || isName(message.role);
  if (isIndexed && hasRole && (!message || message === choice.message)) return choice;
  return {
    ...choice,
    ...(isIndexed ? {} : { index: index === null ? place : indexOf(choice) }),
    ...(message ? { message: hasRole ? message : { ...message, role: "assistant" } } : {}),
  };
}

/** UsualChunks completes the chunks of one stream of chat. */
export class UsualChunks {
  /** The choices whose role has been told, by index. */
  readonly #told = new Set<JsonValue>();

  /** choices returns the usual choices of a chunk; undefined where they are usual. */
  choices({ choices = null }: JsonObject): JsonValue[] | undefined {
    if (!Array.isArray(choices)) return [];
    const usual = mappedList(choices, (choice) => (isObject(choice) ? this.#usual(choice) : choice));
    return usual === choices ? undefined : usual;
  }

  #usual(choice: JsonObject): JsonObject {
    const index = indexOf(choice);
    const said = deltaIn(choice);
    const delta = this.#lacksRole(index, said) ? { ...said, role: "assistant" } : said;
    if (index === choice.index && delta === choice.delta) return choice;
    // A client that reads `message` or `text`, too, would have the same words twice.
    const { message: _, text: __, ...rest } = choice;
    return { ...(said === choice.delta ? choice : rest), index, delta };
  }

  #lacksRole(index: JsonValue, delta: JsonObject): boolean {
    if (this.#told.has(index)) return false;
    const hasRole = isName(delta.role);
    const begins = saying.some((key) => (delta[key] ?? "") !== "");
    if (hasRole || begins) this.#told.add(index);
    return begins && !hasRole;
  }
}

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
function deltaIn({ delta, message, text }: JsonObject): JsonObject {
  if (isObject(delta)) return withPlainContent(delta);
  if (isObject(message)) return withPlainContent(message);
  return typeof text === "string" && text !== "" ? { content: text } : {};
}

function isName(role: JsonValue | undefined): boolean {
  return typeof role === "string" && role !== "";
}
