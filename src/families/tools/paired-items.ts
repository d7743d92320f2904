/**
 * Gives every call among the items of a response its result. What is broken in a history becomes what it becomes in a chat
 * (`paired-results.ts`); results may stand anywhere behind their calls.
 */
import { type CooperativeTask, endsSlice } from "../../runtime/cooperative.ts";
import { isFilledText, isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../wire/json.ts";
import { compactionTypes } from "../responses-to-chat/compaction.ts";
import { type CallPair, CallPairs } from "./call-pairs.ts";
import { interrupted, withHeading } from "./paired-results.ts";

type ResultOf = (call_id: string) => JsonObject;

/** missingResults make the result of a call that has none, by the type of the call. */
const missingResults: ReadonlyMap<JsonValue | undefined, ResultOf> = new Map<JsonValue | undefined, ResultOf>([
  ["function_call", (call_id) => ({ type: "function_call_output", call_id, output: interrupted })],
  ["custom_tool_call", (call_id) => ({ type: "custom_tool_call_output", call_id, output: interrupted })],
  // Codex answers calls of its local shell so, too.
  ["local_shell_call", (call_id) => ({ type: "function_call_output", call_id, output: interrupted })],
  [
    "apply_patch_call",
    (call_id) => ({ type: "apply_patch_call_output", call_id, status: "failed", output: interrupted }),
  ],
  [
    "tool_search_call",
    (call_id) => ({ type: "tool_search_output", call_id, execution: "client", status: "incomplete", tools: [] }),
  ],
  ["shell_call", (call_id) => ({ type: "shell_call_output", call_id, output: [interruptedShell] })],
]);

const interruptedShell = { stdout: "", stderr: interrupted, outcome: { type: "exit", exit_code: 1 } };

const results: ReadonlySet<JsonValue | undefined> = new Set([
  ...["function_call_output", "custom_tool_call_output"],
  ...["local_shell_call_output", "apply_patch_call_output", "shell_call_output"],
  ...["tool_search_output", "computer_call_output"],
]);

/** ofComputer is the type of calls whose result is a screen. One that nobody has seen cannot be made: such a call becomes a text. */
const ofComputer = "computer_call";

/** elsewhere are the types of items that stand for others, among which a call or its result may be. */
const elsewhere: ReadonlySet<JsonValue | undefined> = new Set(["item_reference", ...compactionTypes]);

/** pairedItems returns the same list where every call has its result and an id of its own. */
export function* pairedItems(items: JsonValue[]): CooperativeTask<JsonValue[]> {
  if (yield* isPaired(items)) return items;
  const calls = new CallPairs<JsonObject>("conversation");
  /** pairs are those of calls, and those of results, by their place. */
  const pairs: (CallPair<JsonObject> | undefined)[] = [];
  /** searches are those of tools found, for which no call is waiting: they get one, because later calls need these tools. */
  const searches = new Set<number>();
  const isWhole = !items.some(isElsewhere);
  let isCalling = false;
  for (const [i, item] of items.entries()) {
    if (endsSlice(i)) yield;
    if (isCall(item) && !isCalling) calls.beginTurn();
    isCalling = isCall(item);
    if (isCall(item)) pairs.push(calls.begin(item.call_id));
    else pairs.push(isResult(item) ? calls.answer(item.call_id, item) : undefined);
    if (pairs[i] || !isWhole || !isResult(item) || item.type !== "tool_search_output") continue;
    pairs[i] = calls.begin(item.call_id);
    calls.answer(item.call_id, item);
    searches.add(i);
  }
  const paired: JsonValue[] = [];
  /** missing are the results that go behind those of the calls which the model made at once. */
  let missing: JsonObject[] = [];
  for (const [i, item] of items.entries()) {
    if (endsSlice(i)) yield;
    const pair = pairs[i];
    if (isCall(item) && pair) {
      if (item.type === ofComputer && !pair.result && isWhole) {
        paired.push(asSaid(item));
        continue;
      }
      paired.push(pair.id === item.call_id ? item : { ...item, call_id: pair.id });
      const result = pair.result || !isWhole ? undefined : missingResults.get(item.type)?.(pair.id);
      if (result) missing.push(result);
      continue;
    }
    if (isResult(item) && pair) {
      if (searches.has(i)) paired.push(...missing.splice(0), searchFor(pair.id));
      paired.push(pair.id === item.call_id ? item : { ...item, call_id: pair.id });
      continue;
    }
    for (const result of missing) paired.push(result);
    missing = [];
    paired.push(isResult(item) && isWhole ? asText(item) : item);
  }
  for (const result of missing) paired.push(result);
  return paired;
}

function* isPaired(items: readonly JsonValue[]): CooperativeTask<boolean> {
  const used = new Set<string>();
  const open = new Set<string>();
  for (const [i, item] of items.entries()) {
    if (endsSlice(i)) yield;
    if (isCall(item)) {
      if (used.size === used.add(item.call_id).size) return false;
      open.add(item.call_id);
    } else if (isResult(item) && !open.delete(item.call_id)) return false;
  }
  return open.size === 0;
}

/** isElsewhere also reports results of a local shell that name their call by `id` alone, as OpenAI's reference has them. */
function isElsewhere(item: JsonValue): boolean {
  if (!isObject(item)) return false;
  return elsewhere.has(item.type) || (item.type === "local_shell_call_output" && !isFilledText(item.call_id));
}

type OfCall = JsonObject & { readonly call_id: string };

function isCall(item: JsonValue): item is OfCall {
  if (!isObject(item) || !isFilledText(item.call_id) || item.execution === "server") return false;
  return item.type === ofComputer || missingResults.has(item.type);
}

function isResult(item: JsonValue): item is OfCall {
  return isObject(item) && results.has(item.type) && isFilledText(item.call_id) && item.execution !== "server";
}

function asText(result: JsonObject): JsonObject {
  return { type: "message", role: "user", content: withHeading(shownOf(result), "input_text") };
}

/** shownOf returns what a result shows: of a shell what it printed, of a patch without a word whether it was made. */
function shownOf({ type, output, status }: JsonObject): JsonValue | undefined {
  const { image_url = null } = isObject(output) ? output : {};
  if (image_url !== null) return [{ type: "input_image", image_url, detail: "auto" }];
  if (type === "apply_patch_call_output") return textOrEmpty(output) || textOrEmpty(status);
  if (type !== "shell_call_output" || !Array.isArray(output)) return output;
  const printed = output.filter(isObject).flatMap(({ stdout, stderr }) => [textOrEmpty(stdout), textOrEmpty(stderr)]);
  return printed.filter(Boolean).join("\n");
}

/** asSaid returns what a model did at a computer as its text. */
function asSaid({ action, actions }: JsonObject): JsonObject {
  const text = `computer: ${JSON.stringify(actions ?? action ?? {})}\n\n${interrupted}`;
  return { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
}

function searchFor(call_id: string): JsonObject {
  return { type: "tool_search_call", call_id, execution: "client", status: "completed", arguments: {} };
}
