/** Describes what nodes tell each other through the database. */
import { bigint, integer, orEmpty, orNull, orZero, serial, type TableShape, text } from "./shape.ts";

/** nodes has the nodes that work on the database, and what was decided of the last turn of each. */
export const nodes: TableShape = {
  name: "nodes",
  columns: {
    node: text,
    /** The version of its program. */
    version: text,
    started_at: bigint,
    /** Since when it has renewed its deadline without a gap. */
    steady_since: bigint,
    /** alive_until is when it counts as dead. */
    alive_until: bigint,
    /** Its last turn, and what was decided, as JSON: a turn that is asked again gets the same. */
    turn: orZero(bigint),
    decisions: orNull(text),
    /** Names what of its configuration all nodes should have alike; empty where it does not say. */
    configuration: orEmpty(text),
  },
  key: ["node"],
  only: "postgres",
  use: "hot",
};

/** recalls are accounts whose idle leases are to come back, by the nodes that have them. */
export const recalls: TableShape = {
  name: "recalls",
  columns: { id: serial, account_id: text, at: bigint },
  key: ["id"],
  only: "postgres",
  use: "passing",
};

/** changes has one row, whose number grows with every change that nodes keep in memory. */
export const changes: TableShape = {
  name: "changes",
  columns: { id: integer, number: bigint },
  key: ["id"],
  use: "hot",
};

/** changedNames are the keys and accounts that the last changes were of; an empty name stands for all. */
export const changedNames: TableShape = {
  name: "changed_names",
  columns: { number: bigint, name: text },
  key: ["number", "name"],
  use: "passing",
};
