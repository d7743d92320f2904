/**
 * The system prompt and the turns → chat messages.
 *
 * Consecutive turns of the same role are one turn, as in the Messages API. So tool results directly follow their
 * calls, as chat requires, before anything else the user says. A summary of what came before (`compaction`) stands for
 * all of that, as it does at the vendor.
 */
import { create } from "@bufbuild/protobuf";
import { Role } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import {
  type ContentBlock,
  ContentBlockSchema,
  ContentBlockType,
  type CreateMessageRequest,
  type InputMessage,
} from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { invalidValue } from "../../../call/refusals.ts";
import { lastAnswerIn } from "../../../call/request/last-answer.ts";
import { type CooperativeTask, endsSlice } from "../../../runtime/cooperative.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { madeFrom } from "../../paths/origins.ts";
import { summaryFollows } from "../../responses-to-chat/compaction.ts";
import { pairedResults } from "../../tools/paired-results.ts";
import { isCompaction, summaryIn } from "../compaction.ts";
import { assistantMessage, type ConversationContext } from "./assistant.ts";
import {
  contentOf,
  type Marks,
  markedParts,
  markOf,
  type PlacedBlock,
  type Placing,
  paragraphs,
  placed,
  textPart,
} from "./content.ts";
import { changesTools } from "./offered-tools.ts";
import { toolResultOf } from "./tool-results.ts";
import { turnParts } from "./vendor-blocks.ts";

export function* conversationOf(
  request: CreateMessageRequest,
  context: ConversationContext,
): CooperativeTask<JsonObject[]> {
  const messages: JsonObject[] = [];
  const instructions = systemPrompt(request, context);
  if (instructions.length > 0) messages.push(madeFrom("system", { role: "system", content: instructions }));
  let count = 0;
  const { summary, turns } = sinceCompaction(yield* turnsOf(request.messages, context));
  if (summary !== undefined) messages.push({ role: "user", content: `${summaryFollows}\n\n${summary}` });
  for (const { role, path, blocks } of turns) {
    if (endsSlice(count++)) yield;
    if (role === Role.SYSTEM) {
      const instructionBlocks = blocks.filter(({ block }) => !changesTools(block));
      if (instructionBlocks.length > 0)
        messages.push(madeFrom(path, { role: "system", content: instructionsIn(instructionBlocks) }));
    } else if (role === Role.ASSISTANT) {
      for (const { blocks: said, results } of turnParts(blocks)) {
        const message = yield* assistantMessage(said, context);
        if (results.length === 0 || saysAnything(message)) messages.push(madeFrom(path, message));
        messages.push(...results);
      }
    } else messages.push(...(yield* userMessages(path, blocks, context)));
  }
  // A server refuses a conversation without any turn.
  if (messages.length === 0 && request.messages.length > 0)
    messages.push(madeFrom("messages[0]", { role: "system", content: "" }));
  return yield* pairedResults(messages);
}

/** saysAnything reports whether an assistant's message has more than its role and an empty text. */
function saysAnything(message: JsonObject): boolean {
  return message.content !== "" || Object.keys(message).length > 2;
}

/** sinceCompaction returns the turns since the last summary, and that; all turns where there is none. */
function sinceCompaction(turns: readonly Turn[]): { readonly summary?: string; readonly turns: readonly Turn[] } {
  for (const [i, { role, path, blocks }] of [...turns.entries()].reverse()) {
    const at = blocks.findLastIndex(({ block }) => summaryIn(block) !== undefined);
    if (at === -1) continue;
    const rest = blocks.slice(at + 1);
    const summary = summaryIn((blocks[at] as PlacedBlock).block) as string;
    return { summary, turns: [...(rest.length > 0 ? [{ role, path, blocks: rest }] : []), ...turns.slice(i + 1)] };
  }
  return { turns };
}

/**
 * Claude Code's first block is for its vendor's billing and differs from call to call: it would defeat every prompt
 * cache.
 */
const billingHeader = "x-anthropic-billing-header";

function systemPrompt(
  { system }: CreateMessageRequest,
  { omitted, marks }: ConversationContext,
): string | JsonObject[] {
  if (system.case === "systemText") return system.value;
  const blocks = placed(system.case === "systemBlocks" ? system.value.blocks : [], "system");
  const [first] = blocks;
  const isBilling = first?.block.text?.startsWith(billingHeader) === true;
  if (isBilling) omitted.add(first.path);
  const said = isBilling ? blocks.slice(1) : blocks;
  return marks && said.some(({ block }) => block.cacheControl) ? markedInstructions(said, marks) : instructionsIn(said);
}

/** markedInstructions returns a part for all instructions up to each mark, and one for those behind. */
function markedInstructions(blocks: readonly PlacedBlock[], marks: Marks): JsonObject[] {
  const ends = blocks.flatMap(({ block }, i) => (block.cacheControl || i === blocks.length - 1 ? [i + 1] : []));
  return ends.flatMap((end, i) => {
    const text = instructionsIn(blocks.slice(i === 0 ? 0 : ends[i - 1], end));
    return text === "" ? [] : [{ ...textPart(text), ...markOf(blocks[end - 1] as PlacedBlock, marks) }];
  });
}

function instructionsIn(blocks: readonly PlacedBlock[]): string {
  const notText = blocks.find(({ block }) => block.type !== ContentBlockType.TEXT);
  if (notText) throw invalidValue(`${notText.path}.type`, "instructions are text");
  return paragraphs(...blocks.map(({ block }) => block.text));
}

interface Turn {
  readonly role: Role | undefined;
  /** path is that of its first message. */
  readonly path: string;
  readonly blocks: PlacedBlock[];
}

/** turnsOf takes links to files where the upstream is asked for responses: it fetches files by their URL then. */
function* turnsOf(
  messages: readonly InputMessage[],
  { readsSeals: takesLinks, omitted }: ConversationContext,
): CooperativeTask<Turn[]> {
  const turns: Turn[] = [];
  const isOf = (role: Role) => (message: InputMessage) => message.role === role;
  const lastAnswer = yield* lastAnswerIn(messages, isOf(Role.ASSISTANT), isOf(Role.USER));
  for (const [i, message] of messages.entries()) {
    if (endsSlice(i)) yield;
    const path = `messages[${i}]`;
    const placing = { takesLinks, unshown: i < lastAnswer ? omitted : undefined };
    const blocks = blocksOf(message, `${path}.content`, placing).filter(isOfUse);
    // Instructions without a word are those that ask for an effort.
    if (message.role === Role.SYSTEM && blocks.length === 0) continue;
    const last = turns.at(-1);
    if (last && last.role === message.role) last.blocks.push(...blocks);
    else turns.push({ role: message.role, path, blocks });
  }
  return turns;
}

/** isOfUse reports whether a block says anything: where compacting failed its block does not. */
function isOfUse({ block }: PlacedBlock): boolean {
  return !isCompaction(block) || summaryIn(block) !== undefined;
}

function blocksOf({ content }: InputMessage, path: string, placing: Placing): PlacedBlock[] {
  if (content.case === "blocks") return placed(content.value.blocks, path, placing);
  return content.case === "text" ? [{ block: textBlock(content.value), path }] : [];
}

function textBlock(text: string): ContentBlock {
  return create(ContentBlockSchema, { type: ContentBlockType.TEXT, text });
}

/**
 * userMessages returns the user's messages. A tool message holds text only, so images and files of results open the user's message, each
 * with its call's id. Where chat is translated further (`readsSeals`), they stay in their results.
 */
function* userMessages(
  path: string,
  blocks: readonly PlacedBlock[],
  { readsSeals: holdsParts, marks }: ConversationContext,
): CooperativeTask<JsonObject[]> {
  const messages: JsonObject[] = [];
  const attached: JsonObject[] = [];
  const own: JsonObject[] = [];
  for (const [i, placed] of blocks.entries()) {
    if (endsSlice(i)) yield;
    if (placed.block.type === ContentBlockType.TOOL_RESULT) {
      const result = toolResultOf(placed, holdsParts);
      // The translation of chat to responses does not read marks of results.
      const mark = holdsParts ? {} : markOf(placed, marks);
      messages.push(madeFrom(placed.path, { ...result.message, ...mark }));
      attached.push(...result.attached);
    } else own.push(...markedParts(placed, marks));
  }
  const parts = [...attached, ...own];
  if (parts.length > 0 || messages.length === 0)
    messages.push(madeFrom(path, { role: "user", content: contentOf(parts) }));
  return messages;
}
