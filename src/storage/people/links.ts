/**
 * One-time links: for the first user, for invitations, for a new password. Only the SHA-256 of a link's secret is stored.
 *
 * A link works once. Marking it as used, and what it is used for, are one transaction.
 */
import type { Insertable, Selectable } from "kysely";
import type { Database, Engine } from "../engines/engine.ts";
import type { LinkTable } from "../schema-people.ts";

export type Link = Selectable<LinkTable>;
export type NewLink = Insertable<LinkTable>;

/** LinkRow is a link, with the names of what it leads to. */
export interface LinkRow extends Link {
  /** The name of the account that it invites to. */
  readonly account_name: string | null;
  /** The e-mail address of the user whose password it sets. */
  readonly user_email: string | null;
}

export interface LinkStore {
  /** Adds a link, and deletes those that have expired. */
  insert(link: NewLink): void;
  /** Finds a link that is neither used nor expired. */
  findByTokenHash(tokenHash: string, now: number): LinkRow | undefined;
  /**
   * Uses a link of this kind that is neither used nor expired for some work, and returns what the work returned; undefined where
   * there is no such link. What the work throws is thrown, and the link stays unused.
   */
  use<T>(tokenHash: string, kind: number, now: number, work: (link: LinkRow) => T): T | undefined;
  /** Deletes the unused links of a kind, all or one user's. Returns how many. */
  withdraw(kind: number, userId?: string): number;
}

export function linkStore(db: Database, engine: Engine): LinkStore {
  const find = engine.prepare<[hash: string, now: number], LinkRow>(
    `SELECT l.*, a.name AS account_name, u.email AS user_email
     FROM links l LEFT JOIN accounts a ON a.id = l.account_id LEFT JOIN users u ON u.id = l.user_id
     WHERE l.token_hash = (SELECT ?) AND l.used_at IS NULL AND l.expires_at > (SELECT ?)`,
  );
  const use = engine.prepare<[now: number, id: string]>(
    "UPDATE links SET used_at = ? WHERE id = ? AND used_at IS NULL",
  );
  return {
    insert: (link) =>
      engine.transact(() => {
        engine.run(db.deleteFrom("links").where("expires_at", "<=", link.created_at));
        engine.run(db.insertInto("links").values({ ...link, email: link.email?.toLowerCase() ?? null }));
      }),
    findByTokenHash: (tokenHash, now) => find.get(tokenHash, now),
    use: (tokenHash, kind, now, work) =>
      engine.transact(() => {
        const link = find.get(tokenHash, now);
        if (link?.kind !== kind || use.run(now, link.id) !== 1) return undefined;
        return work(link);
      }),
    withdraw: (kind, userId) =>
      engine.run(
        db
          .deleteFrom("links")
          .where("kind", "=", kind)
          .where("used_at", "is", null)
          .$if(userId !== undefined, (query) => query.where("user_id", "=", userId as string)),
      ),
  };
}
