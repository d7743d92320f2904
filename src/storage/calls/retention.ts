/**
 * Deletes calls and acts that are older than they are kept, some at a time. Ids sort by time, so that the oldest are found
 * without a look at the others.
 *
 * The ledger and the sums of usage stay: what a call was charged stands in its row while that is kept, and in an entry of
 * the ledger from then on. What they say of calls that are gone cannot be proved any more, so it is written down from when on
 * calls are kept (`kept_from`): `reconcile.ts` proves from there.
 */
import type { Engine } from "../engines/engine.ts";
import { charge, chargeId } from "../money/entries.ts";

export interface RetentionStore {
  /** Deletes some calls from before this hour, whose ids are before this one. Returns how many. */
  forgetRequests(hour: number, beforeId: string): number;
  /** Deletes some acts whose ids are before this one. Returns how many. */
  forgetAuditEvents(beforeId: string): number;
}

/** How many rows are deleted in one transaction: writers wait for it. */
const batch = 500;

export function retentionStore(engine: Engine): RetentionStore {
  // Never back: what was deleted stays so, whatever is configured later.
  const noteRequests = engine.prepare<[at: number, id: string]>(
    `INSERT INTO kept_from (kind, at, id) VALUES ('requests', ?, ?)
     ON CONFLICT (kind) DO UPDATE SET at = excluded.at, id = excluded.id WHERE excluded.at > at`,
  );
  // A call is sorted by when it came, and summed in the hour in which it was taken up: both have to be over.
  const oldest = `rowid IN (SELECT rowid FROM requests WHERE id < ? AND created_at < ? ORDER BY id LIMIT ${batch})`;
  // One that stands there already is a fault, which `reconcile` tells of: it keeps nothing from being forgotten.
  const keepCharges = engine.prepare<[beforeId: string, hour: number]>(
    `INSERT INTO ledger_entries (id, account_id, kind, amount, request_id, key_id, created_at)
     SELECT ${chargeId}, account_id, ${charge}, -cost, id, key_id, created_at + duration_ms
     FROM requests WHERE ${oldest} AND cost > 0 ON CONFLICT (request_id) DO NOTHING`,
  );
  const deleteRequests = engine.prepare<[beforeId: string, hour: number]>(`DELETE FROM requests WHERE ${oldest}`);
  const deleteActs = engine.prepare<[beforeId: string]>(
    `DELETE FROM acts WHERE rowid IN (SELECT rowid FROM acts WHERE id < ? ORDER BY id LIMIT ${batch})`,
  );
  return {
    forgetRequests: (hour, beforeId) =>
      engine.transact(() => {
        keepCharges.run(beforeId, hour);
        const count = deleteRequests.run(beforeId, hour);
        if (count > 0) noteRequests.run(hour, beforeId);
        return count;
      }),
    forgetAuditEvents: (beforeId) => engine.transact(() => deleteActs.run(beforeId)),
  };
}
