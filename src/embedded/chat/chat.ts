/** A chat request → the simulator's answer, which is the same for the same request. */
import { setImmediate } from "node:timers/promises";
import {
  type CreateChatCompletionRequest,
  type CreateChatCompletionRequestSchema,
  ResponseFormatType,
} from "../../../gen/modelgateway/v1/chat_pb.ts";
import { cancelled, invalidValue } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { runCooperatively } from "../../runtime/cooperative.ts";
import { promptTokens } from "../../tokens/prompt.ts";
import type { Piece, Tokenizer } from "../../tokens/tokenizer.ts";
import { withDoublesInSlices } from "../../wire/scan/exact-number.ts";
import type { Wire } from "../../wire/wire.ts";
import { findInstance } from "../schema/find-instance.ts";
import { maxOutputTokens } from "./bounds.ts";
import { lastUserText } from "./conversation.ts";
import { answerId, callId } from "./identity.ts";
import { replyTo, topicOf } from "./reply.ts";
import { isLegacy, type PlannedCall, plannedCalls } from "./tools.ts";

export interface GeneratedCall {
  readonly kind: "function" | "custom" | "legacy";
  readonly id: string;
  readonly name: string;
  readonly pieces: readonly Piece[];
}

export interface GeneratedChoice {
  /** The text; undefined where tools are called. */
  readonly text: readonly Piece[] | undefined;
  readonly calls: readonly GeneratedCall[];
  readonly finish: "stop" | "length" | "tool_calls" | "function_call";
  /** The tokens of the text, or of the calls' names and inputs. */
  readonly tokens: number;
}

export interface GeneratedAnswer {
  readonly id: string;
  readonly choices: readonly GeneratedChoice[];
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** generate throws a Refusal where a schema or a tool choice cannot be satisfied, and when the caller disconnects. */
export async function generate(
  wire: Wire<typeof CreateChatCompletionRequestSchema>,
  tokenizer: Tokenizer,
  signal: Signal,
): Promise<GeneratedAnswer> {
  // What is made by a schema is made of doubles.
  const request = await runCooperatively(withDoublesInSlices(wire.message()), wire.isLong);
  const id = answerId(wire.json());
  const limit = Math.min(request.maxCompletionTokens ?? request.maxTokens ?? maxOutputTokens, maxOutputTokens);
  const calls = await plannedCalls(request, signal);
  const choices: GeneratedChoice[] = [];
  for (let k = 0; k < (request.n ?? 1); k++) {
    // Choices may be many and long: other work gets a turn between them.
    if (k > 0) await setImmediate();
    if (signal.aborted) throw cancelled();
    choices.push(
      calls.length > 0
        ? choiceOfCalls(calls, isLegacy(request), tokenizer, limit, (i) => callId(id, k, i))
        : choiceOfText(await textOfChoice(request, k, signal), stopsOf(request), tokenizer, limit),
    );
  }
  const completionTokens = choices.reduce((sum, choice) => sum + choice.tokens, 0);
  return { id, choices, promptTokens: await promptTokens(wire, tokenizer, signal), completionTokens };
}

/** textOfChoice returns the text of the choice with this index, before any bound. */
async function textOfChoice(request: CreateChatCompletionRequest, k: number, signal: Signal): Promise<string> {
  const reply = replyTo(request.messages) + (k > 0 ? ` (choice ${k + 1})` : "");
  switch (request.responseFormat?.type) {
    case ResponseFormatType.JSON_OBJECT:
      return JSON.stringify({ answer: reply });
    case ResponseFormatType.JSON_SCHEMA:
      return structured(request, k, signal);
    default:
      return reply;
  }
}

async function structured(request: CreateChatCompletionRequest, k: number, signal: Signal): Promise<string> {
  const schema = request.responseFormat?.jsonSchema?.schema ?? true;
  const word = topicOf(lastUserText(request.messages), []);
  const value =
    (await findInstance(schema, { word, place: k }, signal)) ?? (await findInstance(schema, { word }, signal));
  if (signal.aborted) throw cancelled();
  if (value === undefined) {
    throw invalidValue("response_format.json_schema.schema", "no value that fits this schema was found");
  }
  return JSON.stringify(value);
}

function stopsOf(request: CreateChatCompletionRequest): string[] {
  const { stop } = request;
  const texts = stop.case === "stopText" ? [stop.value] : stop.case === "stopList" ? stop.value.texts : [];
  return texts.filter((text) => text !== "");
}

function choiceOfText(text: string, stops: readonly string[], tokenizer: Tokenizer, limit: number): GeneratedChoice {
  const ends = stops.map((stop) => text.indexOf(stop)).filter((at) => at !== -1);
  const cut = tokenizer.cut(text.slice(0, Math.min(text.length, ...ends)), limit);
  return { text: cut.pieces, calls: [], finish: cut.whole ? "stop" : "length", tokens: cut.tokens };
}

/** choiceOfCalls cuts a call's input at the bound, as models do. A call whose name does not fit is not begun. */
function choiceOfCalls(
  planned: readonly PlannedCall[],
  legacy: boolean,
  tokenizer: Tokenizer,
  limit: number,
  idOf: (index: number) => string,
): GeneratedChoice {
  const calls: GeneratedCall[] = [];
  let tokens = 0;
  let whole = true;
  for (const [i, { kind, name, input }] of planned.entries()) {
    const named = tokens + tokenizer.count(name);
    whole = named <= limit;
    if (!whole) break;
    const cut = tokenizer.cut(input, limit - named);
    calls.push({ kind: legacy ? "legacy" : kind, id: idOf(i), name, pieces: cut.pieces });
    tokens = named + cut.tokens;
    whole = cut.whole;
    if (!whole) break;
  }
  const finish = whole ? (legacy ? "function_call" : "tool_calls") : "length";
  return { text: undefined, calls, finish, tokens };
}
