/**
 * Tells as texts what blocks of the Messages API say, for servers that do not know their types. A conversation that began at another server
 * has blocks that only some know: calls and results of a vendor's own tools, found pages, documents.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type CooperativeTask, endsSlice, runNow } from "../../runtime/cooperative.ts";
import { isFilledText, isObject, textOrEmpty } from "../../wire/json.ts";
import { blocksIn } from "./content-parts.ts";
import { lastAnswerIn } from "./last-answer.ts";

/** unshown stands in a turn that has been answered for what its model was shown, and another cannot be. */
export const unshown = "(Something that was shown here earlier cannot be shown to this model.)";

/** plain are the types of blocks that every server of the API has to know. */
const plain: ReadonlySet<JsonValue | undefined> = new Set(["text", "image", "tool_use", "tool_result"]);

/** toldTypes returns those of these types of which a conversation, which may be an outline, has a block that is told as a text. */
export function toldTypes(
  messages: readonly JsonValue[],
  types: ReadonlySet<JsonValue | undefined>,
): ReadonlySet<JsonValue> {
  const [asked, found] = [types.difference(plain), new Set<JsonValue>()];
  if (asked.size === 0) return found;
  const answered = runNow(lastAnswerIn(messages, isOfModel, isOfOthers));
  for (const [i, turn] of messages.entries()) {
    for (const block of blocksIn(turn).flatMap((one) => [one, ...resultsIn(one)])) {
      if (!isObject(block) || typeof block.type !== "string" || !asked.has(block.type)) continue;
      if (i <= answered || (!found.has(block.type) && toldBlock(block) !== undefined)) found.add(block.type);
    }
  }
  return found;
}

/**
 * withToldBlocks returns the turns with a text in place of each block of these types. What has no words of its own, as a file, is named, and
 * told of as such where its turn has been answered; in a new turn it stays, for the model would answer as if it had seen it.
 */
export function* withToldBlocks(
  messages: readonly JsonValue[],
  types: ReadonlySet<JsonValue | undefined>,
  dropped: string[],
): CooperativeTask<JsonValue[]> {
  const answered = yield* lastAnswerIn(messages, isOfModel, isOfOthers);
  const turns: JsonValue[] = [];
  for (const [i, turn] of messages.entries()) {
    if (endsSlice(i)) yield;
    const tell = (block: JsonValue, path: string): JsonValue => {
      if (!isObject(block)) return block;
      if (types.has(block.type)) return toldOrNamed(block, path, i <= answered ? dropped : undefined);
      const results = resultsIn(block);
      const told = results.map((one, k) => tell(one, `${path}.content[${k}]`));
      return told.some((one, k) => one !== results[k]) ? { ...block, content: told } : block;
    };
    const blocks = blocksIn(turn);
    const told = blocks.map((block, k) => tell(block, `messages[${i}].content[${k}]`));
    turns.push(told.some((block, k) => block !== blocks[k]) ? { ...(turn as JsonObject), content: told } : turn);
  }
  return turns;
}

function toldOrNamed(block: JsonObject, path: string, dropped: string[] | undefined): JsonObject {
  const told = toldBlock(block);
  if (told || !dropped) return told ?? block;
  dropped.push(path);
  return textFor(block, unshown);
}

const isOfModel = (turn: JsonValue) => isObject(turn) && turn.role === "assistant";
const isOfOthers = (turn: JsonValue) => !isOfModel(turn);

function resultsIn(block: JsonValue): readonly JsonValue[] {
  return isObject(block) && block.type === "tool_result" ? blocksIn(block) : [];
}

/** toldBlock returns a text with the words of a block; undefined where it has none that a model could read. */
export function toldBlock(block: JsonObject): JsonObject | undefined {
  const words = wordsOf(block);
  return words === undefined ? undefined : textFor(block, words);
}

function textFor({ cache_control: mark }: JsonObject, text: string): JsonObject {
  return { type: "text", text, ...(mark ? { cache_control: mark } : {}) };
}

function wordsOf({ type, name, input, title, context, source, content }: JsonObject): string | undefined {
  if (type === "server_tool_use" || type === "mcp_tool_use") return `${name}: ${JSON.stringify(input ?? {})}`;
  if (type === "tool_result" || `${type}`.endsWith("_tool_result"))
    return `The result of the tool:\n\n${wordsOfResult(content ?? "")}`;
  if (type === "compaction") return textOrEmpty(content) || undefined;
  if (type === "search_result") return paragraphs([title, source, textsOf(content)]);
  if (type !== "document" || !isObject(source)) return undefined;
  const text = source.type === "text" ? textOrEmpty(source.data) || undefined : textsOf(source.content);
  return text === undefined ? undefined : paragraphs([title, context, text]);
}

/** wordsOfResult returns texts as they are, and all else as JSON without what only its server can read, and without the bytes of files. */
function wordsOfResult(content: JsonValue): string {
  return textsOf(content) ?? JSON.stringify(content, readable);
}

function readable(this: JsonObject, key: string, value: JsonValue): JsonValue | undefined {
  return /^encrypted_/.test(key) || (key === "data" && this.type !== "text") ? undefined : value;
}

/** textsOf returns undefined where a content has anything but texts. */
function textsOf(content: JsonValue | undefined): string | undefined {
  if (!Array.isArray(content)) return typeof content === "string" ? content : undefined;
  const texts = content.map((block) => (isObject(block) ? block.text : undefined));
  return texts.length > 0 && texts.every((text) => typeof text === "string") ? texts.join("\n\n") : undefined;
}

function paragraphs(texts: readonly (JsonValue | undefined)[]): string | undefined {
  return texts.filter(isFilledText).join("\n\n") || undefined;
}
