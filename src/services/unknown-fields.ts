/**
 * Refuses unknown fields of requests about keys. Other services pass an unknown field on to the upstream; here it would be lost although
 * the caller expects it to take effect.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { invalidValue } from "../call/refusals.ts";

/** refuseUnknown throws a Refusal for unknown fields of a request, or of what is at `path` in it. Fields in `nullable` may be null. */
export function refuseUnknown(extra: JsonObject | undefined, nullable: readonly string[] = [], path = ""): void {
  for (const [key, value] of Object.entries(extra ?? {})) {
    if (value === null && nullable.includes(key)) continue;
    if (key === "is_admin") {
      throw invalidValue(key, "administrator privilege is granted in the dashboard only, never through the API");
    }
    throw invalidValue(
      path === "" ? key : `${path}.${key}`,
      value === null ? "null says nothing here; leave it out" : "there is no such field; leave it out",
    );
  }
}
