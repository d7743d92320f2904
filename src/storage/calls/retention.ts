/**
 * Deletes calls and audit events that are older than they are kept, some at a time. Ids sort by time, so that the oldest are
 * found without reading the others.
 *
 * The ledger and the sums of usage stay: what a call was charged is in its row while that is kept, and in a ledger entry from
 * then on. Sums of deleted calls cannot be proved any more; so `kept_from` records from when on calls are kept, and
 * `reconcile.ts` proves from there.
 */
import type { Engine } from "../engines/engine.ts";
import { charge, chargeId } from "../money/entries.ts";

export interface RetentionStore {
  /** Deletes some calls that came before this hour and have ids before this one. Returns how many. */
  forgetRequests(hour: number, beforeId: string): number;
  /** Deletes some audit events whose ids are before this one. Returns how many. */
  forgetAuditEvents(beforeId: string): number;
}

/** How many rows a transaction deletes: writers wait for it. */
const batch = 500;

export function retentionStore(engine: Engine): RetentionStore {
  // It never goes back: deleted calls do not return when more is configured to be kept.
  const keepFrom = engine.prepare<[at: number, id: string]>(
    `INSERT INTO kept_from (kind, at, id) VALUES ('requests', ?, ?)
     ON CONFLICT (kind) DO UPDATE SET at = excluded.at, id = excluded.id WHERE excluded.at > at`,
  );
  // A call's id has the time when its head came, and it is summed in the hour when its body had come: both must have passed.
  const oldest = `rowid IN (SELECT rowid FROM requests WHERE id < ? AND created_at < ? ORDER BY id LIMIT ${batch})`;
  // An entry that exists already is a fault, which `reconcile` reports. It keeps no call from being deleted.
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
        if (count > 0) keepFrom.run(hour, beforeId);
        return count;
      }),
    forgetAuditEvents: (beforeId) => engine.transact(() => deleteActs.run(beforeId)),
  };
}
