/**
 * Follows the events of a streamed response to the one that it ends with. A stream without that is broken off: no client takes
 * `[DONE]` in its place.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { isObject } from "../wire/json.ts";
import type { Follower } from "./dialect.ts";
import { isDone } from "./done.ts";
import type { Meter } from "./provider.ts";
import { ResponseMetering } from "./responses-usage.ts";

export function followResponse(meter: Meter): Follower {
  const metering = new ResponseMetering(meter);
  let isDoneSaid = false;
  let end: JsonObject | undefined;
  let hasItems = false;
  return {
    isEnd(data) {
      isDoneSaid = isDone(data);
      return isDoneSaid;
    },
    isOver: () => isDoneSaid || end !== undefined,
    take(frame, json) {
      metering.take(json);
      hasItems ||= isObject(json.item) || typeof json.delta === "string";
      if (isEnd(json)) end = json;
      return frame;
    },
    isComplete: () => end !== undefined && (hasItems || saysSomething(end)),
  };
}

function isEnd({ type }: JsonObject): boolean {
  return type === "response.completed" || type === "response.incomplete";
}

/** One that was cut off may have nothing to show: all of it was thought. */
function saysSomething({ type, response }: JsonObject): boolean {
  const output = isObject(response) ? response.output : undefined;
  return type === "response.incomplete" || (Array.isArray(output) && output.length > 0);
}
