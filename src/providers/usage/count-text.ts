/** Counts a member of an answer as output of the model, where it is text. */
import type { JsonValue } from "@bufbuild/protobuf";
import { isFilledText } from "../../wire/json.ts";
import type { Meter } from "../contract.ts";

export function countTextOf(text: JsonValue | undefined, meter: Meter): void {
  if (isFilledText(text)) meter.countText(text);
}
