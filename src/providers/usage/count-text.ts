/** Counts a member of an answer as output of the model, where it is text. */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Meter } from "../contract.ts";

export function countTextOf(text: JsonValue | undefined, meter: Meter): void {
  if (typeof text === "string" && text !== "") meter.countText(text);
}
