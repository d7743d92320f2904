/** Describes the versions of the configuration. */
import type { Described } from "./accounts.ts";
import { bigint, integer, orNull, text } from "./shape.ts";

export const configurations: Described<"configurations"> = {
  name: "configurations",
  columns: {
    version: integer,
    document: text,
    created_at: bigint,
    actor_kind: text,
    actor_id: text,
    note: orNull(text),
    changed: text,
  },
  key: ["version"],
};
