/** Imported is what an import has made. */
import type { Note } from "./notes.ts";

export interface Imported {
  /** text is the gateway.yaml. */
  readonly text: string;
  readonly notes: readonly Note[];
  /** variables are the names of the environment's variables that it needs. */
  readonly variables: readonly string[];
  readonly models: number;
  readonly upstreams: number;
}
