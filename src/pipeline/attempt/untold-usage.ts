/**
 * Tells callers what a call used where its upstream does not: the counts that the call is charged for. Agents compact their conversations by
 * these, and SDKs of the Messages API fail where they are missing.
 *
 * Usage that an upstream tells stays unchanged, but that the end of a message repeats its input, and tells no less than was told before: the
 * greatest counts. A stream of chunks ends with one more chunk, for the usage, if its caller asked for that. Other streams tell usage in
 * certain events: such an event is sent once its usage is counted.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Answer, Frames } from "../../call/call.ts";
import type { Usage } from "../../call/usage.ts";
import { countOf } from "../../providers/usage/count.ts";
import { isFinished } from "../../providers/usage/finish-word.ts";
import {
  completedUsage,
  inputOfMessage,
  type TellingOperation,
  tellsLess,
  tellsUsage,
} from "../../providers/usage/write-usage.ts";
import { andThen, type MaybePromise } from "../../runtime/maybe-promise.ts";
import { forEach, pushStream } from "../../runtime/push-stream.ts";
import { definedFields, isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import type { ModelCall } from "../complete/model-call.ts";

/** UsageSource knows what an attempt has used. */
export interface UsageSource {
  /** operation is the one that the upstream answers. */
  readonly operation: TellingOperation;
  /** isAskedFor is whether a stream of chunks is to end with its usage. */
  readonly isAskedFor: boolean;
  /** isUntold reports whether the upstream has told no usage so far, or none of its output. */
  readonly isUntold: () => boolean;
  /** told returns what the upstream has told so far, by the greatest counts. */
  readonly told: () => Usage;
  /** count returns what was used so far and is charged. */
  readonly count: () => MaybePromise<Usage>;
}

/** withUntoldUsage returns the frames of a stream with the usage that its upstream leaves out. */
export function withUntoldUsage(frames: Frames, source: UsageSource): Frames {
  const { operation, isAskedFor } = source;
  if (operation === "messages" || operation === "responses") return withUsageInEvents(frames, source);
  return isAskedFor ? withUsageChunk(frames, source) : frames;
}

/**
 * withChargedUsage returns the whole answer of a call that has been charged, with the usage that it lacks. Counting may take long, and
 * meanwhile the gateway may be stopped: so the charge comes first.
 */
export function withChargedUsage<A extends Answer>(
  answer: A,
  { operation, meter, charged }: Pick<ModelCall, "operation" | "meter" | "charged">,
): MaybePromise<A> {
  if (answer.kind !== "whole" || !charged || !tellsUsage(operation) || !meter.isUntold()) return answer;
  const { body } = answer;
  return andThen(body.findInSlices(), () => {
    // Of long vectors there is an outline, which has the usage.
    return { ...answer, body: body.with({ usage: completedUsage(body.outline().usage, operation, charged) }) };
  });
}

/** withUsageChunk adds a chunk for the usage to the end of a stream. */
function withUsageChunk(frames: Frames, { operation, isUntold, count }: UsageSource): Frames {
  return pushStream((take) => {
    let chunkOf: ((usage: JsonObject) => Wire) | undefined;
    const taken = forEach(frames, (batch) => {
      if (!chunkOf) {
        const said = batch.find(hasChoices);
        chunkOf = said && chunkLike(said);
      }
      return take(batch);
    });
    return taken.then(async () => {
      if (chunkOf && isUntold()) await take([chunkOf(completedUsage(undefined, operation, await count()))]);
    });
  });
}

/** hasChoices reports whether a chunk is of the answer: Azure's first one is about the prompt. */
function hasChoices(chunk: Wire): boolean {
  const { choices } = chunk.json();
  return Array.isArray(choices) && choices.length > 0;
}

/** chunkLike returns what makes the chunk for the usage of the stream that this chunk is of. The chunk itself is not kept. */
function chunkLike(chunk: Wire): (usage: JsonObject) => Wire {
  const { desc } = chunk;
  const { id, object, created, model } = chunk.json();
  const head = definedFields({ id, object, created, model });
  return (usage) => Wire.ofJson(desc, { ...head, choices: [], usage }, true);
}

/** withUsageInEvents completes the events of a message or a response that tell usage. */
function withUsageInEvents(frames: Frames, source: UsageSource): Frames {
  return pushStream((take) =>
    forEach(frames, (batch) => {
      const isLacking = batch.some((event) => lacksUsage(event.json(), source));
      return isLacking ? completedEvents(batch, source).then(take) : take(batch);
    }),
  );
}

async function completedEvents(batch: readonly Wire[], source: UsageSource): Promise<readonly Wire[]> {
  const used = await source.count();
  return batch.map((event) => (lacksUsage(event.json(), source) ? completedEvent(event, source, used) : event));
}

/** lacksUsage reports whether an event is one that tells usage, and does not. */
function lacksUsage({ type, message, delta, usage }: JsonObject, source: UsageSource): boolean {
  const { isUntold, told } = source;
  switch (type) {
    case "message_start":
      return isObject(message) && !isObject(message.usage);
    case "message_delta":
      return (
        isObject(delta) &&
        isFinished(delta.stop_reason) &&
        (!tellsInput(usage) || !tellsOutput(usage) || isUntold() || tellsLess(usage, told()))
      );
    case "response.completed":
    case "response.incomplete":
      return isUntold();
  }
  return false;
}

/**
 * tellsInput reports whether the end of a message repeats the count of its input, as Anthropic's does: LangChain reads no other. llama.cpp
 * tells it at the beginning alone.
 */
function tellsInput(usage: JsonValue | undefined): boolean {
  return isObject(usage) && countOf(usage.input_tokens) !== undefined;
}

function tellsOutput(usage: JsonValue | undefined): boolean {
  return isObject(usage) && countOf(usage.output_tokens) !== undefined;
}

function completedEvent<O extends DescMessage>(
  event: Wire<O>,
  { operation, isUntold, told }: UsageSource,
  used: Usage,
): Wire<O> {
  const { type, message, response, usage } = event.json();
  const within = (outer: JsonValue | undefined, counts: Usage) => {
    const others = isObject(outer) ? outer : {};
    return { ...others, usage: completedUsage(others.usage, operation, counts) };
  };
  if (type === "message_start") return event.with({ message: within(message, { ...used, output: 0, reasoning: 0 }) });
  if (type === "message_delta") {
    const lacksInputAlone = isObject(usage) && tellsOutput(usage) && !isUntold() && !tellsLess(usage, told());
    const whole = lacksInputAlone ? { ...usage, ...inputOfMessage(used) } : completedUsage(usage, operation, used);
    return event.with({ usage: whole });
  }
  return event.with({ response: within(response, used) });
}
