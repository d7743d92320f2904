/** Fill is how the parts of an instance are made: each by the search, from its schema and its spot. */
import type { JsonValue } from "../../wire/json.ts";
import type { Schema } from "./schema.ts";

/** Spot is where in the instance a value stands, and which of the possible values is chosen. */
export interface Spot {
  readonly depth: number;
  /** Index of the choice among the possible values. */
  readonly place: number;
  /** Number of branches taken on the way here. */
  readonly taken: number;
}

/** Makes a value that fits the schema. Returns undefined where the search finds none. */
export type Fill = (schema: Schema, spot: Spot) => JsonValue | undefined;
