/**
 * Instructions in a chat. Servers that do not know `developer` get `system`. Servers that take instructions only
 * first get all of them, in order, as one first message; servers that have no role for them get them in the user's first turn.
 *
 * User messages on both sides of a moved instruction become one: templates that want instructions first also want
 * turns to alternate.
 */
import { isInstruction } from "../../call/request/content-parts.ts";
import type { JsonObject, JsonValue } from "../../wire/json.ts";
import type { Capabilities } from "./profile.ts";

/** placeInstructions returns the messages unchanged where nothing is stated of what the server takes. */
export function placeInstructions(
  messages: readonly JsonObject[],
  { developer, system }: Pick<Capabilities, "developer" | "system">,
): readonly JsonObject[] {
  const known = developer === "system" ? messages.map(asSystem) : messages;
  if (system === "user") return known.some(isInstruction) ? toldByUser(folded(known)) : known;
  return system === "first" && known.some(isLate) ? folded(known) : known;
}

/** toldByUser returns the messages with the first, which are the instructions, as the beginning of the user's turn. */
function toldByUser([{ content = "" }, next, ...rest]: readonly [JsonObject, ...JsonObject[]]): JsonObject[] {
  const first = { role: "user", content };
  if (next?.role !== "user") return [first, ...(next ? [next] : []), ...rest];
  return [asOne([first, next]), ...rest];
}

function asSystem(message: JsonObject): JsonObject {
  return message.role === "developer" ? { ...message, role: "system" } : message;
}

function isLate(message: JsonObject, i: number): boolean {
  return i > 0 && isInstruction(message);
}

function folded(messages: readonly JsonObject[]): [JsonObject, ...JsonObject[]] {
  const instructions = messages.filter(isInstruction);
  const first = { ...(instructions[0] as JsonObject), content: contentOfAll(instructions) };
  /** Each is the messages that become one. */
  const others: [JsonObject, ...JsonObject[]][] = [];
  for (const [i, message] of messages.entries()) {
    if (isInstruction(message)) continue;
    const before = i > 0 && isInstruction(messages[i - 1]) ? others.at(-1) : undefined;
    if (before?.[0].role === "user" && message.role === "user") before.push(message);
    else others.push([message]);
  }
  return [first, ...others.map(asOne)];
}

/** asOne returns messages of one speaker as one. Of a member that several have the first counts. */
export function asOne(messages: readonly [JsonObject, ...JsonObject[]]): JsonObject {
  if (messages.length === 1) return messages[0];
  // There may be more of them than a function takes arguments.
  const members = messages.reduceRight((joined, message) => Object.assign(joined, message), {});
  return { ...members, content: contentOfAll(messages) };
}

/** contentOfAll returns one string where all contents are strings, with blank lines between them, else their parts. */
function contentOfAll(messages: readonly JsonObject[]): JsonValue {
  const contents = messages.map(({ content = "" }) => content).filter((content) => content !== "" && content !== null);
  if (contents.every((content) => typeof content === "string")) return contents.join("\n\n");
  return contents.flatMap((content) =>
    typeof content === "string" ? [{ type: "text", text: content }] : (content as JsonObject[]),
  );
}
