/**
 * CallItem is a tool call as an item of the caller's kind: a function call, a custom tool call, or the call of a tool
 * that the caller runs by its kind (`../client-tools.ts`).
 *
 * Arguments of functions, and native free text, are streamed piece by piece. Free text wrapped in a function's
 * argument is unwrapped when it is complete, and so are the arguments of a tool by its kind.
 */
import { definedFields, isObject, type JsonObject, parsedJson } from "../../../wire/json.ts";
import { unwrappedText } from "../../tools/free-text.ts";
import { type ClientTool, clientTools } from "../client-tools.ts";
import type { CallerTool } from "../tool-names.ts";
import { added, done, type Item, type ItemStatus } from "./items.ts";

/** forms says, for each kind of tool, which items its calls are. */
const forms: Readonly<Record<CallerTool["kind"], Pick<ClientTool, "itemType" | "prefix">>> = {
  function: { itemType: "function_call", prefix: "fc" },
  custom: { itemType: "custom_tool_call", prefix: "ctc" },
  ...clientTools,
};

export class CallItem implements Item {
  readonly #index: number;
  readonly #id: string;
  readonly #tool: CallerTool;
  readonly #callId: string;
  /** isPlain is whether its pieces are streamed. */
  readonly #isPlain: boolean;
  #input = "";

  constructor(index: number, answerId: string, tool: CallerTool, callId: string) {
    this.#index = index;
    this.#id = `${forms[tool.kind].prefix}_${answerId}_${index}`;
    this.#tool = tool;
    this.#callId = callId;
    this.#isPlain = own(tool) === undefined && !tool.isWrapped;
  }

  begin(): JsonObject[] {
    return [added(this, this.#index)];
  }

  say(delta: string): JsonObject[] {
    if (delta === "") return [];
    this.#input += delta;
    return this.#isPlain ? [this.#event("delta", { delta })] : [];
  }

  end(status: ItemStatus): JsonObject[] {
    const { kind, name } = this.#tool;
    const last = done(this, this.#index, status);
    if (own(this.#tool)) return [last];
    if (kind === "custom") {
      const input = this.#text();
      const late = this.#isPlain || input === "" ? [] : [this.#event("delta", { delta: input })];
      return [...late, this.#event("done", { input }), last];
    }
    // Clients parse the arguments of every finished call as JSON.
    const rest = this.#input.trim() === "" && status === "completed" ? this.say("{}") : [];
    return [...rest, this.#event("done", { name, arguments: this.#input }), done(this, this.#index, status)];
  }

  json(status: ItemStatus): JsonObject {
    const { kind, name, namespace } = this.#tool;
    const client = own(this.#tool);
    const call = { id: this.#id, type: forms[kind].itemType, status, call_id: this.#callId };
    if (client) return { ...call, ...client.membersOf(argumentsIn(this.#input)) };
    if (kind === "custom") {
      // Until it is complete the text is still wrapped.
      const input = this.#isPlain || status !== "in_progress" ? this.#text() : "";
      return definedFields({ ...call, name, namespace, input });
    }
    return definedFields({ ...call, name, namespace, arguments: this.#input });
  }

  #text(): string {
    return this.#isPlain ? this.#input : unwrappedText(this.#input);
  }

  #event(what: "delta" | "done", more: JsonObject): JsonObject {
    const about = this.#tool.kind === "custom" ? "custom_tool_call_input" : "function_call_arguments";
    return { type: `response.${about}.${what}`, item_id: this.#id, output_index: this.#index, ...more };
  }
}

/** own returns the tool that the caller runs by its kind; undefined for functions and custom tools. */
function own({ kind }: CallerTool): ClientTool | undefined {
  return kind === "function" || kind === "custom" ? undefined : clientTools[kind];
}

function argumentsIn(text: string): JsonObject {
  const value = parsedJson(text, true);
  return isObject(value) ? value : {};
}
