/** Opens the management connection to a database, and makes the scope in which stores work on it. */
import { Kysely, sql } from "kysely";
import type { Tables } from "../../../schema.ts";
import type { Connection } from "../../engine.ts";
import { createScope, createWithinTransaction, type Database, type PendingSums, type Scope } from "../../scope.ts";
import { createPendingTotals, partOf } from "../books/pending-totals.ts";
import { ledgerStatements } from "../books/statements.ts";
import { createDialects, type ManagementParts } from "./driver.ts";

export interface Management {
  readonly db: Database;
  readonly scope: Scope;
}

export async function openManagement(
  parts: Omit<ManagementParts, "refuseWithin">,
  connection: Pick<Connection, "prepare">,
): Promise<Management> {
  const within = createWithinTransaction();
  const [flushing, unflushed] = createDialects({ ...parts, refuseWithin: within.refuse });
  const db = new Kysely<Tables>({ dialect: flushing });
  // Kysely closes only what it has used.
  await db.connection().execute(async () => {});
  const scope = createScope({
    db,
    unflushed: new Kysely<Tables>({ dialect: unflushed }),
    pending: pendingSums(connection),
    within,
    // A transaction has begun as a writer: nobody else writes until it ends.
    lock: async () => {},
  });
  return { db, scope };
}

function pendingSums({ prepare }: Pick<Connection, "prepare">): PendingSums {
  // The caller's transaction is that of the connection.
  const own: Connection = { prepare, transact: (work) => work(), whenCommitted: () => {} };
  const totals = createPendingTotals(own, ledgerStatements(own));
  // Batch by batch, each of which has a partition in one place: that is quicker than the view of all keys (`api_keys_now`).
  const sumOf = (column: "spent" | "freed", keyId: string) => sql<number>`(SELECT coalesce(sum(s.${sql.ref(column)}), 0)
    FROM due_batches b CROSS JOIN due_sums s ON s.batch = b.id AND s.part = ${partOf(keyId)}
    WHERE b.id > (SELECT batch FROM due_merged WHERE part = ${partOf(keyId)}) AND s.key_id = ${keyId})`;
  return {
    spentOf: (keyId) => sumOf("spent", keyId),
    freedOf: (keyId) => sumOf("freed", keyId),
    async merge(_, keyId) {
      totals.merge(partOf(keyId));
    },
  };
}
