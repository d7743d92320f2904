/** The turns of a chat as the prompt of a completion. */
import { type CooperativeTask, endsSlice } from "../../runtime/cooperative.ts";
import { type JsonObject, type JsonValue, objectsIn } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";

/** names are those by which the roles of turns are told. */
const names: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ["system", "System"],
  ["developer", "System"],
  ["assistant", "Assistant"],
  ["tool", "Tool"],
]);

/** promptOf returns the changes to a body. A single turn is the prompt itself; of several each names who speaks. */
export function* promptOf({ messages }: JsonObject): CooperativeTask<Changes> {
  const turns = objectsIn(messages);
  const texts: string[] = [];
  for (const [i, { role, content }] of turns.entries()) {
    if (endsSlice(i)) yield;
    texts.push(turns.length === 1 ? textOf(content) : `${names.get(role) ?? "User"}: ${textOf(content)}`);
  }
  const prompt = turns.length === 1 ? texts.join() : [...texts, "Assistant:"].join("\n\n");
  return { messages: undefined, prompt };
}

/** textOf returns a text, or those of a list of parts, joined by `between`. */
export function textOf(content: JsonValue | undefined, between = ""): string {
  if (typeof content === "string") return content;
  const parts = objectsIn(content);
  return parts.flatMap(({ text }) => (typeof text === "string" ? [text] : [])).join(between);
}
