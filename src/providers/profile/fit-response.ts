/** Fits a request for a response to what its server takes. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { toolsAnywhere } from "../../call/tools/tools-anywhere.ts";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { isObject } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import { inItems } from "./call-arguments.ts";
import { fitDemand } from "./calls/demanded-calls.ts";
import { resultsBehindCalls } from "./calls/results-behind-calls.ts";
import { fitEffort } from "./effort.ts";
import type { FittedJson } from "./fit-json.ts";
import { instructionsIn, placeInputInstructions } from "./input-instructions.ts";
import { fitOwnIds } from "./item-ids.ts";
import { markItems, marksBeside } from "./keys/cache-marks.ts";
import { isDefault, refusedIn } from "./keys/refused.ts";
import type { Capabilities } from "./profile.ts";
import { rootedItems, rootedTools } from "./schemas/rooted-tools.ts";
import { fitItemIds, itemsWithThoughts } from "./tool-turns.ts";

export function* fitResponse(json: JsonObject, capabilities: Capabilities): CooperativeTask<FittedJson> {
  const reasoning = fitReasoning(json, capabilities);
  const refused = refusedIn(json, capabilities.refuses_responses, capabilities, reasoning.reasons);
  const included = fitInclude(json, capabilities, reasoning.reasons);
  const marking = { taken: capabilities.cache_marks, dropped: [] as string[] };
  const marks = yield* marksBeside(json, marking);
  const marked = yield* markItems(json.input, marking);
  const placed = placeInputInstructions({ ...json, ...(marked === undefined ? {} : { input: marked }) }, capabilities);
  // A text has no place for a mark.
  if (placed.instructions !== undefined) yield* markItems(instructionsIn(marked), { ...marking, taken: "none" });
  const items = yield* resultsBehindCalls(placed.input ?? marked, capabilities);
  const named = yield* inItems(yield* fitItemIds(yield* fitOwnIds(items, capabilities), capabilities, json));
  const input = demandsThoughts({ ...json, ...reasoning.changes }, capabilities)
    ? yield* itemsWithThoughts(named)
    : named;
  const demand = fitDemand({ ...json, ...marks } as JsonObject, capabilities);
  const tools = yield* fitResponseTools({ ...json, ...marks, ...demand.changes }.tools, input, capabilities);
  const changes: Changes = {
    ...boundIn(json, capabilities),
    ...marks,
    ...reasoning.changes,
    ...Object.fromEntries(refused.map((key) => [key, undefined])),
    ...idleChoice(json),
    ...demand.changes,
    ...included.changes,
    ...placed,
    ...(tools.input === json.input ? {} : { input: tools.input }),
    ...(tools.tools === json.tools ? {} : { tools: tools.tools }),
  };
  const lost = refused.filter((key) => !isDefault(key, json[key]) && !isForKeeping(key));
  return {
    changes,
    dropped: [
      ...[...tools.dropped, ...marking.dropped, ...reasoning.dropped],
      ...[...lost, ...included.dropped, ...demand.dropped],
    ],
  };
}

/** demandsThoughts reports whether each earlier turn of the model's must have its reasoning. `reasoning` is what the server is asked for. */
function demandsThoughts({ reasoning }: Changes, { thoughts_demanded: isDemanded }: Capabilities): boolean {
  return isDemanded === true && !(isObject(reasoning) && reasoning.effort === "none");
}

/** idleChoice returns the change that leaves out a choice among no tools, which xAI refuses. A demand for a call stays: its server refuses it. */
function idleChoice(json: JsonObject): Changes {
  const { tools = null, tool_choice: choice } = json;
  const isIdle = tools === null && (choice === "auto" || choice === "none") && toolsAnywhere(json).length === 0;
  return isIdle ? { tool_choice: undefined } : {};
}

interface FittedTools {
  readonly tools: JsonValue | undefined;
  readonly input: JsonValue | undefined;
  readonly dropped: readonly string[];
}

/** fitResponseTools fits the tools of a request, and of its items, which agents load later. */
function* fitResponseTools(
  tools: JsonValue | undefined,
  input: JsonValue | undefined,
  { schemas }: Capabilities,
): CooperativeTask<FittedTools> {
  if (schemas !== "rooted") return { tools, input, dropped: [] };
  const dropped: string[] = [];
  const fitted = Array.isArray(tools) ? yield* rootedTools(tools, "tools", dropped) : tools;
  const items = Array.isArray(input) ? yield* rootedItems(input, dropped) : input;
  return { tools: fitted, input: items, dropped };
}

/** isForKeeping reports whether a key only prepares the next turn. The gateway adds it by itself, so leaving it out is no loss. */
function isForKeeping(key: string): boolean {
  return key === "include";
}

const logprobs = "message.output_text.logprobs";

/** A model that gives no log probabilities while it reasons refuses to be asked for them here, too. */
function fitInclude({ include }: JsonObject, { refuses_reasoning: refused = [] }: Capabilities, reasons: boolean) {
  const isRefused = reasons && refused.includes("logprobs");
  if (!isRefused || !Array.isArray(include) || !include.includes(logprobs)) return { changes: {}, dropped: [] };
  const others = include.filter((word) => word !== logprobs);
  const changes: Changes = { include: others.length > 0 ? others : undefined };
  return { changes, dropped: [`include[${logprobs}]`] };
}

function boundIn({ max_output_tokens: asked }: JsonObject, { least_output: least = 1 }: Capabilities): Changes {
  return typeof asked === "number" && asked < least ? { max_output_tokens: least } : {};
}

/** effortsOf returns the efforts that /responses takes; undefined where nobody stated any. */
function effortsOf({ efforts, efforts_responses: further = [] }: Capabilities): Capabilities["efforts"] {
  return efforts && [...efforts, ...further];
}

/** A server that takes no effort refuses the whole of `reasoning`. */
function fitReasoning({ reasoning, tool_choice: choice = null }: JsonObject, capabilities: Capabilities) {
  const asked = isObject(reasoning) ? reasoning : {};
  const { effort = null } = asked;
  const requested: JsonObject = { tool_choice: choice, ...(effort === null ? {} : { reasoning_effort: effort }) };
  const words = { efforts: effortsOf(capabilities), effort_key: "reasoning_effort", effort_none: undefined };
  const taken = { ...capabilities, ...words };
  const { changes, dropped, reasons } = fitEffort(requested, taken);
  const named = dropped.map(() => "reasoning.effort");
  if (!isObject(reasoning)) {
    const { reasoning_effort: own } = changes;
    return { changes: own === undefined ? {} : { reasoning: { effort: own } }, dropped: [], reasons };
  }
  if (taken.efforts?.length === 0) return { changes: { reasoning: undefined }, dropped: named, reasons };
  if (Object.keys(changes).length === 0) return { changes: {}, dropped: named, reasons };
  const { effort: _, ...rest } = asked;
  const fitted = changes.reasoning_effort;
  const kept: JsonObject = fitted === undefined ? rest : { ...rest, effort: fitted };
  return { changes: { reasoning: kept }, dropped: named, reasons };
}
