/**
 * The audit log: what was done to the gateway and its accounts, and what was refused. Rows are only added. The name of the
 * person or key is looked up when the log is read.
 */
import type { Insertable, Selectable } from "kysely";
import { firstIdAt } from "../../runtime/ids.ts";
import { type Scope, stated } from "../engines/scope.ts";
import type { AuditEventTable } from "../schema-people.ts";

export type NewAuditEvent = Insertable<AuditEventTable>;

export interface AuditEvent extends Selectable<AuditEventTable> {
  /** The e-mail address of the user, or the name of the key; null where it has none, or was removed. */
  readonly actor_name: string | null;
}

export interface AuditEventFilter {
  readonly accountId?: string | undefined;
  /** Selects events of this action, such as `KeyService.CreateKey`. */
  readonly action?: string | undefined;
  /** Selects events of actors of this kind, and with this id if it is given. */
  readonly actor?: { readonly kind: string; readonly id?: string } | undefined;
  /** Selects events at this moment or after it, and before `to`; in milliseconds since 1970. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Selects events before this id. */
  readonly before?: string | undefined;
  readonly limit: number;
}

export interface AuditEventStore {
  insert(event: NewAuditEvent): Promise<void>;
  /** Lists some events, newest first. */
  page(filter: AuditEventFilter): Promise<AuditEvent[]>;
}

export function auditEventStore({ db }: Scope): AuditEventStore {
  return {
    insert: async (event) => void (await db.insertInto("acts").values(event).execute()),
    page: ({ accountId, action, actor, from, to, before, limit }) =>
      db
        .selectFrom("acts")
        .leftJoin("users", "users.id", "acts.actor_id")
        .leftJoin("api_keys", "api_keys.id", "acts.actor_id")
        .selectAll("acts")
        .select((all) => all.fn.coalesce("users.email", "api_keys.name").as("actor_name"))
        .where((is) => is.and(stated({ "acts.account_id": accountId, "acts.action": action })))
        .where((is) => is.and(stated({ "acts.actor_kind": actor?.kind, "acts.actor_id": actor?.id })))
        // Ids sort by time: a span of time is a span of ids.
        .$if(from !== undefined, (query) => query.where("acts.id", ">=", firstIdAt("act", from as number)))
        .$if(to !== undefined, (query) => query.where("acts.id", "<", firstIdAt("act", to as number)))
        .$if(before !== undefined, (query) => query.where("acts.id", "<", before as string))
        .orderBy("acts.id", "desc")
        .limit(limit)
        .execute(),
  };
}
