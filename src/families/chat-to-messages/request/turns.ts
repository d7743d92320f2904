/**
 * Turns as the Messages API takes them: the user begins, none is empty, and a last turn of the assistant's does not
 * end in white space. Models that refuse to go on with such a turn are asked to by the user.
 */
import type { JsonObject } from "../../../wire/json.ts";
import { isThinking } from "../../call-signature.ts";

export interface Turn {
  readonly role: "user" | "assistant";
  /** Results of tools, before the other blocks. */
  readonly results: JsonObject[];
  readonly blocks: JsonObject[];
}

/** Stands in for a text of the user's where one is needed. */
const nothingSaid = { type: "text", text: "…" };
/** Asks for the model's next turn after its own. */
const goOn = { type: "text", text: "Continue." };

export function turnJson({ role, results, blocks }: Turn): JsonObject {
  return { role, content: [...results, ...blocks] };
}

/**
 * mendTurns adds the user's missing turns and texts, and trims a last turn of the assistant's. `endsWithUser` says that the model refuses
 * to continue that.
 */
export function mendTurns(turns: Turn[], endsWithUser: boolean): void {
  for (const { results, blocks } of turns) if (results.length + blocks.length === 0) blocks.push(nothingSaid);
  if (turns[0]?.role !== "user") turns.unshift({ role: "user", results: [], blocks: [nothingSaid] });
  const { role, blocks } = turns.at(-1) as Turn;
  const last = blocks.at(-1);
  if (role === "assistant" && last?.type === "text" && typeof last.text === "string")
    blocks.splice(-1, 1, { ...last, text: last.text.trimEnd() });
  if (role === "assistant" && endsWithUser) turns.push({ role: "user", results: [], blocks: [goOn] });
}

/**
 * continuesWithoutThinking reports whether the answer continues an assistant's turn that does not begin with thinking: as a prefill, or
 * after results. A model that thinks within a budget refuses that.
 */
export function continuesWithoutThinking(turns: readonly Turn[]): boolean {
  const last = turns.at(-1);
  const open = last?.role === "assistant" ? last : last && last.results.length > 0 ? turns.at(-2) : undefined;
  return open?.blocks[0] !== undefined && !isThinking(open.blocks[0]);
}
