/**
 * The content of a chat message in parts of text and thinking, as Mistral's reasoning models and Databricks write it → a text and
 * `reasoning_content`, and thinking under other names → `reasoning_content`, unless it has a name that clients of chat know. Clients take a
 * text for granted: some print `[object Object]`, others throw. A value that a server has parsed of the model's JSON is its text. Mistral's
 * references between the texts are no text: those that have an address become annotations. Parts of other kinds pass as they came.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isFilledText, isObject, objectsIn, scalarText } from "../../wire/json.ts";

/**
 * withPlainContent returns a message, or the next part of one, whose content is a text; the same object where it is, or cannot be one. `before`
 * is the length of the text that earlier parts have said.
 */
export function withPlainContent(sent: JsonObject, before = 0): JsonObject {
  const message = withTexts(withCallsAlone(sent));
  const { content } = message;
  if (isObject(content) && !isPart(content)) return withNamedThinking({ ...message, content: JSON.stringify(content) });
  const told = isObject(content) ? [content] : content;
  if (!Array.isArray(told)) return withNamedThinking(message);
  const parts = told.map(said);
  if (!parts.every((part) => part !== undefined)) return message;
  const { text, annotations } = annotatedText(parts, before);
  const thinking = parts.map((part) => part.thinking ?? "").join("");
  const hasText = thinking === "" || text !== "";
  return {
    ...message,
    content: hasText ? text : null,
    ...(thinking === "" ? {} : { reasoning_content: thinking }),
    ...(annotations.length === 0 ? {} : { annotations }),
  };
}

/** withCallsAlone returns a message whose calls are objects: one that is none would cost a reader all others. */
function withCallsAlone(message: JsonObject): JsonObject {
  const { tool_calls: told } = message;
  if (!Array.isArray(told)) return message;
  const calls = objectsIn(told);
  return calls === told ? message : { ...message, tool_calls: calls };
}

/**
 * withTexts returns a message whose texts are texts or null; the same object where they are. A content that a server has parsed is written
 * again, thinking in parts is their text, and a refusal that is no text, as `false` for none, says nothing.
 */
function withTexts(message: JsonObject): JsonObject {
  const content = scalarText(message.content);
  const untold = mereTexts.filter((name) => typeof (message[name] ?? "") !== "string");
  if (content === "" && untold.length === 0) return message;
  const texts = untold.map((name) => [name, name === "refusal" ? null : (thinkingIn(message[name] ?? null) ?? null)]);
  return { ...message, ...Object.fromEntries(texts), ...(content === "" ? {} : { content }) };
}

/** mereTexts are the members of a message, beside its content, that clients read as texts. */
const mereTexts = ["refusal", "reasoning_content", "reasoning_text"] as const;

/** annotatedText returns the text of all parts, and the pages that stand between, each at its place behind the text before. */
function annotatedText(
  parts: readonly Said[],
  before: number,
): { readonly text: string; readonly annotations: JsonObject[] } {
  let text = "";
  const annotations: JsonObject[] = [];
  for (const { text: piece = "", page } of parts) {
    text += piece;
    const at = before + text.length;
    const place = { start_index: at, end_index: at };
    if (page) annotations.push({ type: "url_citation", url_citation: { ...place, ...page } });
  }
  return { text, annotations };
}

/**
 * isPart tells a part from the value that a server has parsed of a text in JSON, as Cloudflare: a part is of thinking, has a member by the name
 * of its type, or is a text and nothing else. A schema may have members by these names, too.
 */
function isPart(content: JsonObject): boolean {
  const { type, text } = content;
  if (typeof type === "string")
    return thinkingTypes.has(type) || Object.hasOwn(content, type) || typeof text === "string";
  return typeof text === "string" && Object.keys(content).length === 1;
}

/** knownNames are what clients of chat read. */
const knownNames = ["reasoning_content", "reasoning", "reasoning_text", "reasoning_details"] as const;
/** otherNames are those of Ollama's own API and of proxies that pass its members on. */
const otherNames = ["thinking", "thinking_content"] as const;

/** withNamedThinking returns a message whose thinking has a name that clients know; the same object where it has one, or none. */
function withNamedThinking(message: JsonObject): JsonObject {
  const { reasoning = null } = message;
  // An object or a list of it is no text that clients could show.
  const other =
    typeof reasoning === "object" && reasoning !== null ? "reasoning" : otherNames.find((name) => message[name]);
  if (other === undefined) return message;
  if (knownNames.some((name) => name !== other && message[name])) return message;
  const thinking = thinkingIn(message[other] as JsonValue) ?? "";
  if (thinking === "") return message;
  const { [other]: _, ...rest } = message;
  return { ...rest, reasoning_content: thinking };
}

interface Said {
  readonly text?: string;
  readonly thinking?: string;
  readonly page?: { readonly title: string; readonly url: string };
}

/** references are the types of Mistral's parts that name what a text rests on: what a tool has shown, or a page. */
const references: ReadonlySet<JsonValue | undefined> = new Set(["reference", "tool_reference"]);

function referenceIn({ url, title }: JsonObject): Said {
  if (!isFilledText(url)) return {};
  return { page: { title: isFilledText(title) ? title : url, url } };
}

/** The members of a part that is nothing but a text or thinking. */
const plain: ReadonlySet<string> = new Set(["type", "text", "thinking", "closed", "reasoning", "summary"]);
const thinkingTypes: ReadonlySet<JsonValue | undefined> = new Set(["thinking", "reasoning"]);

/** said returns what a part says; undefined where it has more than a text or thinking. */
function said(part: JsonValue): Said | undefined {
  if (!isObject(part)) return textOf(part);
  if (references.has(part.type)) return referenceIn(part);
  if (!Object.keys(part).every((key) => plain.has(key))) return undefined;
  const { type, text, thinking, reasoning, summary } = part;
  const inner = thinking ?? reasoning ?? summary ?? null;
  const told = text === null && inner !== null ? undefined : textOf(text);
  if (told) return thinkingTypes.has(type) ? { thinking: told.text ?? "" } : told;
  const thoughts = thinkingIn(inner);
  return thoughts === undefined ? undefined : { thinking: thoughts };
}

/** textOf returns what a text says, which a server may have parsed: null says nothing. Undefined for a list, and for none. */
function textOf(text: JsonValue | undefined): Said | undefined {
  if (text === null) return {};
  const told = typeof text === "string" ? text : scalarText(text);
  return told === text || told !== "" ? { text: told } : undefined;
}

/** thinkingIn returns thinking that is a text or a number, an object with one, or a list of these; undefined for anything else. */
function thinkingIn(thinking: JsonValue): string | undefined {
  if (typeof thinking === "string" || typeof thinking === "number") return `${thinking}`;
  if (isObject(thinking)) {
    const { text, content, thinking: inner, summary } = thinking;
    return thinkingIn(text ?? content ?? inner ?? summary ?? null);
  }
  const parts = Array.isArray(thinking) ? thinking.map(thinkingIn) : [undefined];
  return parts.every((part) => part !== undefined) ? parts.join("") : undefined;
}
