/**
 * The audit log: what was done to the gateway and its accounts, and what was refused. Rows are only ever added; who did it
 * is looked up when it is read.
 */
import type { Insertable, Selectable } from "kysely";
import type { Database, Engine } from "../engines/engine.ts";
import type { AuditEventTable } from "../schema-people.ts";

export type NewAuditEvent = Insertable<AuditEventTable>;

export interface AuditEvent extends Selectable<AuditEventTable> {
  /** The e-mail address of the user, or the name of the key; null where they have none, or are no more. */
  readonly actor_name: string | null;
}

export interface AuditEventFilter {
  readonly accountId?: string | undefined;
  /** As `KeyService.CreateKey`. */
  readonly action?: string | undefined;
  /** Keeps those before this id. */
  readonly before?: string | undefined;
  readonly limit: number;
}

export interface AuditEventStore {
  insert(act: NewAuditEvent): void;
  /** Lists some, newest first. */
  page(filter: AuditEventFilter): AuditEvent[];
}

export function auditEventStore(db: Database, engine: Engine): AuditEventStore {
  return {
    insert: (act) => void engine.run(db.insertInto("acts").values(act)),
    page: ({ accountId, action, before, limit }) =>
      engine.all(
        db
          .selectFrom("acts")
          .leftJoin("users", "users.id", "acts.actor_id")
          .leftJoin("api_keys", "api_keys.id", "acts.actor_id")
          .selectAll("acts")
          .select((all) => all.fn.coalesce("users.email", "api_keys.name").as("actor_name"))
          .$if(accountId !== undefined, (query) => query.where("acts.account_id", "=", accountId as string))
          .$if(action !== undefined, (query) => query.where("acts.action", "=", action as string))
          .$if(before !== undefined, (query) => query.where("acts.id", "<", before as string))
          .orderBy("acts.id", "desc")
          .limit(limit),
      ),
  };
}
