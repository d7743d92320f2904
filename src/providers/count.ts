/**
 * The counts that upstreams tell. They become money: what is no count is none, as if it had not been told.
 */
import type { JsonValue } from "@bufbuild/protobuf";

/** Returns a whole number from 0 on, or undefined for anything else. */
export function countOf(value: JsonValue | undefined): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
