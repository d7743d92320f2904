/** Applies to a request what its fitting changes, whichever operation it is of. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import type { Changes } from "../../wire/splice.ts";
import type { Wire } from "../../wire/wire.ts";
import type { FittedRequest } from "../contract.ts";

/** FittedJson is what the fitting of a request changes, and the paths of what it leaves out. */
export interface FittedJson {
  readonly changes: Changes;
  readonly dropped: readonly string[];
}

/** fitWith fits a request by a function that fits its JSON. A request that fits stays the same one. */
export function* fitWith<W extends Wire>(
  request: W,
  fit: (json: JsonObject) => CooperativeTask<FittedJson>,
): CooperativeTask<FittedRequest<W>> {
  const fitted = yield* fit(request.outline());
  const values = Object.values(fitted.changes);
  if (values.length === 0) return { request, dropped: fitted.dropped };
  // An outline has fillers in place of long strings, so lists and objects are rebuilt from the whole request.
  const isPlain = values.every((value) => typeof value !== "object");
  if (isPlain || !request.isLong) return { request: request.with(fitted.changes) as W, dropped: fitted.dropped };
  const { changes, dropped } = yield* fit(request.json());
  return { request: request.rebuiltWith(changes) as W, dropped };
}
