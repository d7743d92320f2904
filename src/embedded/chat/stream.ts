/**
 * A generated answer → its chunks, one per token. Joined they are exactly the unary answer.
 *
 * Choices follow one another. When the caller disconnects the next chunk is a refusal.
 */
import { setImmediate } from "node:timers/promises";
import { ChatCompletionChunkSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { cancelled, upstreamFailed } from "../../call/refusals.ts";
import type { Meter } from "../../providers/contract.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import type { JsonObject, JsonValue } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import { fingerprint, type Head, usageOf } from "./answer.ts";
import type { GeneratedAnswer, GeneratedCall, GeneratedChoice } from "./chat.ts";
import { pause, type Simulation } from "./simulate.ts";

type Chunk = Wire<typeof ChatCompletionChunkSchema>;

export interface StreamOptions {
  readonly includeUsage: boolean;
  readonly simulation: Simulation;
  readonly signal: Signal;
  readonly meter: Meter;
}

interface Step {
  readonly delta: JsonObject;
  readonly finish: string | null;
  /** content is whether it has text or a part of a call's input. */
  readonly content: boolean;
  /** The output in it, names of tools included. */
  readonly said: string;
}

/** Chunks between two yields to other work, when a disconnect is noticed, too. */
const chunksPerSlice = 32;

export async function* streamedAnswer(
  answer: GeneratedAnswer,
  head: Head,
  options: StreamOptions,
): AsyncGenerator<readonly Chunk[]> {
  const { includeUsage, simulation, signal, meter } = options;
  const chunk = (choices: JsonValue[], usage: JsonValue): Chunk =>
    Wire.ofJson(ChatCompletionChunkSchema, {
      id: answer.id,
      object: "chat.completion.chunk",
      created: head.created,
      model: head.model,
      choices,
      ...(includeUsage ? { usage } : {}),
      system_fingerprint: fingerprint,
    });
  let sent = 0;
  for (const [index, choice] of answer.choices.entries()) {
    for (const { delta, finish, content, said } of stepsOf(choice)) {
      if (content) {
        if (sent === simulation.breakAfter) throw upstreamFailed("a simulated break of the stream");
        if (sent > 0 && simulation.tokenDelayMs > 0) await pause(simulation.tokenDelayMs, signal);
        else if (sent % chunksPerSlice === chunksPerSlice - 1) await setImmediate();
        sent += 1;
      }
      if (signal.aborted) throw cancelled();
      if (said !== "") meter.countText(said);
      if (finish !== null && index === answer.choices.length - 1 && !includeUsage) tellEnd(answer, meter);
      yield [chunk([{ index, delta, logprobs: null, finish_reason: finish }], null)];
    }
  }
  if (!includeUsage) return;
  tellEnd(answer, meter);
  yield [chunk([], usageOf(answer))];
}

/** tellEnd reports the whole output only once all of it is sent. */
function tellEnd({ completionTokens }: GeneratedAnswer, meter: Meter): void {
  meter.reportUsage({ output: completionTokens });
  meter.reportEnd();
}

function* stepsOf(choice: GeneratedChoice): Generator<Step> {
  yield stepWithout({ role: "assistant", content: choice.text ? "" : null });
  for (const { text } of choice.text ?? []) yield stepWith({ content: text }, text);
  for (const [i, call] of choice.calls.entries()) {
    yield stepWithout(firstDelta(call, i), call.name);
    for (const { text } of call.pieces) yield stepWith(nextDelta(call, i, text), text);
  }
  yield { delta: {}, finish: choice.finish, content: false, said: "" };
}

function stepWithout(delta: JsonObject, said = ""): Step {
  return { delta, finish: null, content: false, said };
}

function stepWith(delta: JsonObject, said: string): Step {
  return { delta, finish: null, content: true, said };
}

function firstDelta({ kind, id, name }: GeneratedCall, index: number): JsonObject {
  if (kind === "legacy") return { function_call: { name, arguments: "" } };
  if (kind === "custom") return { tool_calls: [{ index, id, type: "custom", custom: { name, input: "" } }] };
  return { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] };
}

function nextDelta({ kind }: GeneratedCall, index: number, text: string): JsonObject {
  if (kind === "legacy") return { function_call: { arguments: text } };
  return {
    tool_calls: [kind === "custom" ? { index, custom: { input: text } } : { index, function: { arguments: text } }],
  };
}
