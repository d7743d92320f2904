/**
 * Counts the searches of the web that are told by a chat's choices, and not by its usage: Moonshot bills each call of its own tool
 * `$web_search`, and Groq's models name the tools that they have used. In a stream a tool comes in pieces, and once more with its result.
 *
 * Sources: https://platform.kimi.com/docs/pricing/tools, https://console.groq.com/docs/compound
 */
import { isObject, type JsonObject, type JsonValue, objectsIn } from "../../wire/json.ts";

export class SearchCounter {
  readonly #seen = new Set<string>();

  /** take takes a choice, or a piece of one. It returns the searches so far; undefined where it tells none. */
  take(choice: JsonObject): number | undefined {
    const said = choice.delta ?? choice.message;
    if (!isObject(said) || (said.tool_calls ?? said.executed_tools) === undefined) return undefined;
    const before = this.#seen.size;
    for (const [i, call] of objectsIn(said.tool_calls).entries())
      if (isObject(call.function) && call.function.name === "$web_search") this.#see(choice, "call", call, i);
    for (const [i, tool] of objectsIn(said.executed_tools).entries())
      if ([tool.type, tool.name].some(isSearch)) this.#see(choice, "tool", tool, i);
    return this.#seen.size > before ? this.#seen.size : undefined;
  }

  #see(choice: JsonObject, kind: "call" | "tool", used: JsonObject, place: number): void {
    this.#seen.add(JSON.stringify([choice.index ?? 0, kind, used.index ?? used.id ?? place]));
  }
}

/** isSearch reports the name or type of a tool that searches, as `search` and `browser_search`: opening a page is no search. */
function isSearch(word: JsonValue | undefined): boolean {
  return typeof word === "string" && /(?:^|[._])search$/.test(word);
}
