/**
 * Tracks the events of a streamed response to its last event, which gets all items that came before it. No client accepts `[DONE]` in its
 * place: it is written there. A stream that ends with neither is broken off.
 */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { upstreamFailed } from "../../call/refusals.ts";
import { isFilledText, isObject } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import type { Attempt } from "../contract.ts";
import type { StreamTracker } from "../dialect.ts";
import { isDone } from "../frames/done.ts";
import { ResponseItems } from "./items.ts";
import { OutputPlaces } from "./output-places.ts";
import { ResponseMetering } from "./usage.ts";
import { UsualEvents } from "./usual-events.ts";
import { isOfResponse, nested, usualEvent, withArguments } from "./usual-items.ts";

export function trackResponse({ meter, model }: Pick<Attempt, "meter" | "model">): StreamTracker {
  const metering = new ResponseMetering(meter);
  const items = new ResponseItems();
  const places = new OutputPlaces();
  const usual = new UsualEvents(model);
  let isDoneSaid = false;
  let end: JsonObject | undefined;
  const lastFrames = <O extends DescMessage>(sent: Wire<O>, json: JsonObject): Wire<O>[] => {
    const visible = wholeEnd(sent, json, items);
    end = visible.json() as JsonObject;
    return framesOf(usual.last(end), end, visible);
  };
  return {
    isEndMark(data) {
      isDoneSaid = isDone(data);
      return isDoneSaid;
    },
    isOver: () => isDoneSaid || end !== undefined,
    take(sent, told) {
      if (!isOfResponse(told)) return [];
      const event = nested(told);
      const json = usualEvent(isEnd(event) ? withUsage(usual.withHead(event)) : event);
      const frame = json === told ? sent : sent.with(json);
      metering.take(json);
      if (isEnd(json)) return lastFrames(frame, json);
      const placed = places.placed(json);
      const item = items.take(placed, frame);
      return framesOf(usual.take(item ? { ...placed, item } : placed), json, frame);
    },
    takeFault: (json) => metering.takeFault(json),
    isCut: () => items.isWithinInput,
    isComplete: () => (end ? saysSomething(end) : isDoneSaid && items.whole([], "completed").length > 0),
    closingFrames(desc) {
      if (end) return [];
      const json = usual.completed();
      return lastFrames(Wire.ofJson(desc, json, true), json);
    },
  };
}

/** framesOf returns the frames of events, of which one came in a frame of its own. */
function framesOf<O extends DescMessage>(events: readonly JsonObject[], own: JsonObject, frame: Wire<O>): Wire<O>[] {
  return events.map((event) => (event === own ? frame : Wire.ofJson(frame.desc, event, true)));
}

const ends: ReadonlyMap<unknown, string> = new Map([
  ["response.completed", "completed"],
  ["response.incomplete", "incomplete"],
  // OpenRouter's name for a completed response.
  ["response.done", "completed"],
]);

function isEnd({ type }: JsonObject): boolean {
  return ends.has(type);
}

/** withUsage returns the last event with the usage inside its response: some servers put it beside. */
function withUsage(event: JsonObject): JsonObject {
  const { response, usage } = event;
  if (!isObject(response) || !isObject(usage) || isObject(response.usage)) return event;
  return { ...event, response: { ...response, usage } };
}

/**
 * wholeEnd returns the last event with a complete response of the right status. vLLM calls a response complete that was cut off, and says
 * so in its status alone; others say it by the reason alone. Throws a Refusal where there is no response.
 */
function wholeEnd<O extends DescMessage>(
  frame: Wire<O>,
  { type, response }: JsonObject,
  items: ResponseItems,
): Wire<O> {
  if (!isObject(response)) throw upstreamFailed("it ended its answer without a response");
  const isCut = response.status === "incomplete" || isReasonGiven(response.incomplete_details);
  const status = isCut ? "incomplete" : (ends.get(type) as string);
  const told = items.whole(response.output, status);
  const output = status === "completed" ? withArguments(told) : told;
  if (response.status === status && output === response.output && type === `response.${status}`) return frame;
  return frame.with({ type: `response.${status}`, response: { ...response, status, output: [...output] } });
}

function isReasonGiven(details: JsonValue | undefined): boolean {
  return isObject(details) && isFilledText(details.reason);
}

/** An incomplete response may be empty: all of it was reasoning. */
function saysSomething({ type, response }: JsonObject): boolean {
  const output = isObject(response) ? response.output : undefined;
  return type === "response.incomplete" || (Array.isArray(output) && output.some(isObject));
}
