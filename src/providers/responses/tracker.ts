/**
 * Tracks the events of a streamed response to its last event. A stream without it is broken off: no client accepts
 * `[DONE]` in its place. The last event gets all items that came before it.
 */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { upstreamFailed } from "../../call/refusals.ts";
import { isObject } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import type { Attempt } from "../contract.ts";
import type { StreamTracker } from "../dialect.ts";
import { isDone } from "../frames/done.ts";
import { ResponseItems } from "./items.ts";
import { OutputPlaces } from "./output-places.ts";
import { ResponseMetering } from "./usage.ts";
import { UsualEvents } from "./usual-events.ts";
import { usualEvent } from "./usual-items.ts";

export function trackResponse({ meter, model }: Pick<Attempt, "meter" | "model">): StreamTracker {
  const metering = new ResponseMetering(meter);
  const items = new ResponseItems();
  const places = new OutputPlaces();
  const usual = new UsualEvents(model);
  let isDoneSaid = false;
  let end: JsonObject | undefined;
  return {
    isEndMark(data) {
      isDoneSaid = isDone(data);
      return isDoneSaid;
    },
    isOver: () => isDoneSaid || end !== undefined,
    take(sent, told) {
      const json = usualEvent(isEnd(told) ? withUsage(told) : told);
      const frame = json === told ? sent : sent.with(json);
      metering.take(json);
      const placed = places.placed(json);
      const item = items.take(placed, frame);
      const asFrames = (events: readonly JsonObject[], own: JsonObject, ownFrame: typeof frame) =>
        events.map((event) => (event === own ? ownFrame : Wire.ofJson(frame.desc, event, true)));
      if (!isEnd(json)) {
        const event = item ? { ...placed, item } : placed;
        return asFrames(usual.take(event), json, frame);
      }
      const visible = wholeEnd(frame, json, items);
      end = visible.json() as JsonObject;
      return asFrames(usual.last(end), end, visible);
    },
    takeFault: (json) => metering.takeFault(json),
    isComplete: () => end !== undefined && saysSomething(end),
  };
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
  const output = items.whole(response.output, status);
  if (response.status === status && output === response.output && type === `response.${status}`) return frame;
  return frame.with({ type: `response.${status}`, response: { ...response, status, output: [...output] } });
}

function isReasonGiven(details: JsonValue | undefined): boolean {
  return isObject(details) && typeof details.reason === "string" && details.reason !== "";
}

/** An incomplete response may be empty: all of it was reasoning. */
function saysSomething({ type, response }: JsonObject): boolean {
  const output = isObject(response) ? response.output : undefined;
  return type === "response.incomplete" || (Array.isArray(output) && output.some(isObject));
}
