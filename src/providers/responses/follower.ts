/**
 * Follows the events of a streamed response to the one that it ends with. A stream without that is broken off: no client takes
 * `[DONE]` in its place. The end is told with all that was told before it.
 */
import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import { upstreamFailed } from "../../call/refusals.ts";
import { isObject } from "../../wire/json.ts";
import type { Wire } from "../../wire/wire.ts";
import type { Meter } from "../contract.ts";
import type { StreamTracker } from "../dialect.ts";
import { isDone } from "../frames/done.ts";
import { ResponseItems } from "./items.ts";
import { ResponseMetering } from "./usage.ts";

export function trackResponse(meter: Meter): StreamTracker {
  const metering = new ResponseMetering(meter);
  const items = new ResponseItems();
  let isDoneSaid = false;
  let end: JsonObject | undefined;
  return {
    isEndMark(data) {
      isDoneSaid = isDone(data);
      return isDoneSaid;
    },
    isOver: () => isDoneSaid || end !== undefined,
    take(frame, json) {
      metering.take(json);
      items.take(json, frame);
      if (!isEnd(json)) return frame;
      const told = wholeEnd(frame, json, items);
      end = told.json() as JsonObject;
      return told;
    },
    isComplete: () => end !== undefined && saysSomething(end),
  };
}

const ends: ReadonlyMap<unknown, string> = new Map([
  ["response.completed", "completed"],
  ["response.incomplete", "incomplete"],
]);

function isEnd({ type }: JsonObject): boolean {
  return ends.has(type);
}

/** Returns the last event with a response that has ended so, and lacks nothing. Throws a Refusal where there is none. */
function wholeEnd<O extends DescMessage>(
  frame: Wire<O>,
  { type, response }: JsonObject,
  items: ResponseItems,
): Wire<O> {
  if (!isObject(response)) throw upstreamFailed("it ended its answer without a response");
  const status = ends.get(type) as string;
  const output = items.whole(response.output, status);
  if (response.status === status && output === response.output) return frame;
  return frame.with({ response: { ...response, status, output: [...output] } });
}

/** One that was cut off may have nothing to show: all of it was thought. */
function saysSomething({ type, response }: JsonObject): boolean {
  const output = isObject(response) ? response.output : undefined;
  return type === "response.incomplete" || (Array.isArray(output) && output.some(isObject));
}
