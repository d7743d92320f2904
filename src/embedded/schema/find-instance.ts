/**
 * Finds instances of schemas without keeping others waiting: what a short search does not find is left to a thread of its own, which
 * finds the same. A request may bring many schemas, each made to be searched for long.
 */
import { startThread } from "../../package/package-files.ts";
import { createQueuedThread } from "../../package/queued-thread.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import type { JsonValue } from "../../wire/json.ts";
import { type InstanceOptions, searchInstance } from "./instance.ts";
import type { Schema } from "./schema.ts";

/** InstanceRequest asks the thread for an instance. */
export interface InstanceRequest {
  readonly schema: Schema;
  readonly options: InstanceOptions;
}

/** InstanceReply has it; no value where there is none. */
export interface InstanceReply {
  readonly value?: JsonValue;
}

/** The most of a schema that is searched at once, in values, and for how many visits: together some milliseconds. */
const [fewValues, fewSteps] = [500, 500];
/** A larger schema has no instance: to hand it over would take long. */
const maxValues = 20_000;
/** charactersPerValue is how many characters count as a value. */
const charactersPerValue = 64;

const askThread = createQueuedThread<InstanceRequest, InstanceReply>(() => startThread("instances"));

/** findInstance resolves with undefined where no instance is found, or the call is aborted before its turn comes. */
export function findInstance(
  schema: Schema,
  options: InstanceOptions,
  signal?: Signal,
): MaybePromise<JsonValue | undefined> {
  const left = valuesLeft(schema, maxValues);
  if (left < 0) return undefined;
  if (maxValues - left <= fewValues) {
    const { value, isCut } = searchInstance(schema, options, fewSteps);
    if (!isCut) return value;
  }
  return askThread(() => (signal?.aborted ? undefined : { asked: { schema, options } })).then((reply) => reply?.value);
}

/** Subtracts the values of a schema from a number. Stops below 0. */
function valuesLeft(value: JsonValue, most: number): number {
  let left = most - 1;
  if (typeof value === "string") return left - Math.floor(value.length / charactersPerValue);
  if (typeof value !== "object" || value === null) return left;
  for (const key in value) {
    left = valuesLeft(
      (value as Record<string, JsonValue>)[key] as JsonValue,
      left - Math.floor(key.length / charactersPerValue),
    );
    if (left < 0) return left;
  }
  return left;
}
