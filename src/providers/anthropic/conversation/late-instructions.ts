/**
 * Instructions in mid-conversation. Claude takes them from Opus 4.8 on, each between a user's turn and the model's; older models, and most
 * other servers of this API, refuse the whole request for one, and Claude Code writes them for every model. Where they stand otherwise, or
 * the model is not known to take them, they become texts of the user's turn beside them, between the tags that Claude Code has for them: the
 * beginning of the prompt stays the same, so that its cache does. An effort in them is the request's for a model that is not known to take
 * it there (`call/request/turn-efforts.ts`).
 *
 * Sources: https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages,
 * https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-mid-conversation-system.html
 */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { partsOf } from "../../../call/request/content-parts.ts";
import { effortOfTurns, hasTurnEffort, isWordless, withoutTurnEfforts } from "../../../call/request/turn-efforts.ts";
import type { MaybePromise } from "../../../runtime/maybe-promise.ts";
import { isObject } from "../../../wire/json.ts";
import type { Changes } from "../../../wire/splice.ts";
import type { Wire } from "../../../wire/wire.ts";
import { takesLateInstructions, takesTurnEfforts } from "../generation.ts";
import { isForeign } from "./foreign-tools.ts";

/** withPlacedInstructions returns the request with instructions where its model takes them; the same request where all are. */
export function withPlacedInstructions<D extends DescMessage>(request: Wire<D>, model: string): MaybePromise<Wire<D>> {
  const { messages: outlined } = request.outline();
  if (!Array.isArray(outlined) || !outlined.some(isInstruction)) return request;
  const json = request.json();
  const messages = json.messages as JsonValue[];
  const movesEfforts = outlined.some(hasTurnEffort) && !takesTurnEfforts(model);
  const joined = withoutNeighbours(movesEfforts ? withoutTurnEfforts(messages) : messages);
  const takes = takesLateInstructions(model);
  const placed = folded(joined, (i) => isOfEffort(joined[i]) || (takes && isPlaced(joined, i)));
  if (placed.length === messages.length && placed.every((turn, i) => turn === messages[i])) return request;
  const changes = { messages: placed, ...(movesEfforts ? effortOf(messages, json.output_config) : {}) };
  return request.rewrittenBy(changes);
}

/** effortOf returns the change to a request for the effort that its turns ask for. */
function effortOf(messages: readonly JsonValue[], config: JsonValue | undefined): Changes {
  const asked = effortOfTurns(messages);
  return asked ? { output_config: { ...(isObject(config) ? config : {}), effort: asked.effort } } : {};
}

/** isOfEffort reports instructions that are an effort without a word. They may stand anywhere. */
function isOfEffort(turn: JsonValue | undefined): boolean {
  return isInstruction(turn) && hasTurnEffort(turn) && isWordless(turn);
}

function isInstruction(turn: JsonValue | undefined): turn is JsonObject {
  return isObject(turn) && turn.role === "system";
}

/** withoutNeighbours joins instructions that follow each other; those with an effort stand alone. */
function withoutNeighbours(turns: readonly JsonValue[]): JsonValue[] {
  const joined: JsonValue[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    if (isInstruction(turn) && isInstruction(last) && !hasTurnEffort(turn) && !hasTurnEffort(last))
      joined[joined.length - 1] = { ...last, content: [...partsOf(last.content), ...partsOf(turn.content)] };
    else joined.push(turn);
  }
  return joined;
}

/** isPlaced reports whether the model takes instructions in this place. Foreign tools are told as texts, behind which it takes none. */
function isPlaced(turns: readonly JsonValue[], i: number): boolean {
  const { role: next = "assistant" } = (turns[i + 1] ?? {}) as JsonObject;
  const before = turns[i - 1];
  if (!isObject(before) || next !== "assistant") return false;
  const last = partsOf(before.content).at(-1);
  return (
    before.role === "user" ||
    (isObject(last) && !isForeign(last) && /^server_tool_use$|_tool_result$/.test(`${last.type}`))
  );
}

/** folded has instructions be texts of the user's turns beside them. Those that hold more than texts stay, for their server to decide on. */
function folded(turns: readonly JsonValue[], stays: (i: number) => boolean): JsonValue[] {
  const placed: JsonValue[] = [];
  /** waiting are texts behind a turn of the model: results of its calls come before them. */
  let waiting: JsonValue[] = [];
  for (const [i, turn] of turns.entries()) {
    const texts = isInstruction(turn) && !stays(i) ? textsOf(turn) : undefined;
    const last = placed.at(-1);
    if (texts && isUsers(last)) placed[placed.length - 1] = { ...last, content: [...partsOf(last.content), ...texts] };
    else if (texts) waiting.push(...texts);
    else if (waiting.length === 0) placed.push(turn);
    else {
      if (isUsers(turn)) placed.push({ ...turn, content: [...partsOf(turn.content), ...waiting] });
      else placed.push({ role: "user", content: waiting }, turn);
      waiting = [];
    }
  }
  return waiting.length === 0 ? placed : [...placed, { role: "user", content: waiting }];
}

function isUsers(turn: JsonValue | undefined): turn is JsonObject {
  return isObject(turn) && turn.role === "user";
}

/** textsOf returns the texts of instructions between tags; undefined where they hold anything else. */
function textsOf(turn: JsonObject): JsonValue[] | undefined {
  const blocks = partsOf(turn.content);
  const texts = blocks.filter((block) => isObject(block) && typeof block.text === "string") as JsonObject[];
  if (texts.length < blocks.length) return undefined;
  return texts.map((block) => ({ ...block, text: tagged(block.text as string) }));
}

function tagged(text: string): string {
  return text.includes("<system-reminder>") ? text : `<system-reminder>\n${text}\n</system-reminder>`;
}
