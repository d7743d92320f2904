/** Messages as frames of a stream. A frame that came in the wanted form is passed on as it came. */
import { dataFrame, eventFrame, isEvent } from "./sse.ts";
import type { Wire } from "./wire.ts";

/** asData returns the message as a `data:` frame. */
export function asData(message: Wire): Buffer {
  const frame = message.frame();
  return frame && !isEvent(frame) ? frame : dataFrame(message.bytes());
}

/** asEvent returns the message as an event named by its `type`; as a `data:` frame where `type` is no string. */
export function asEvent(message: Wire): Buffer {
  const frame = message.frame();
  if (frame && isEvent(frame)) return frame;
  const { type } = message.json();
  return typeof type === "string" ? eventFrame(type, message.bytes()) : dataFrame(message.bytes());
}
