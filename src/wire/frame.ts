/** Messages as frames of a stream: each as it came, where it came so. */
import { dataFrame, eventFrame, isEvent } from "./sse.ts";
import type { Wire } from "./wire.ts";

/** Returns the frame of data alone. */
export function asData(message: Wire): Buffer {
  const frame = message.frame();
  return frame && !isEvent(frame) ? frame : dataFrame(message.bytes());
}

/** Returns the frame of an event that is named by the message's type; of one whose type is no text, the frame of data alone. */
export function asEvent(message: Wire): Buffer {
  const frame = message.frame();
  if (frame && isEvent(frame)) return frame;
  const { type } = message.json();
  return typeof type === "string" ? eventFrame(type, message.bytes()) : dataFrame(message.bytes());
}
