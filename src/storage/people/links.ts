/**
 * One-time links: for the first user, for invitations, for a new password. Only the SHA-256 of a link's secret is stored.
 *
 * A link works once. Marking it as used, and what it is used for, are one transaction.
 */
import type { Insertable, Selectable } from "kysely";
import { changed, type Scope, stated } from "../engines/scope.ts";
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
  insert(link: NewLink): Promise<void>;
  /** Finds a link that is neither used nor expired. */
  findByTokenHash(tokenHash: string, now: number): Promise<LinkRow | undefined>;
  /**
   * Within the transaction that does what the link is for: uses up a link of this kind that is neither used nor expired. Resolves to
   * undefined where there is no such link.
   */
  use(tokenHash: string, kind: number, now: number): Promise<LinkRow | undefined>;
  /** Deletes the unused links of a kind, all or one user's. Returns how many. */
  withdraw(kind: number, userId?: string): Promise<number>;
}

export function linkStore({ db, transact }: Scope): LinkStore {
  const findByTokenHash = (tokenHash: string, now: number): Promise<LinkRow | undefined> =>
    db
      .selectFrom("links")
      .leftJoin("accounts", "accounts.id", "links.account_id")
      .leftJoin("users", "users.id", "links.user_id")
      .selectAll("links")
      .select(["accounts.name as account_name", "users.email as user_email"])
      .where("links.token_hash", "=", tokenHash)
      .where("links.used_at", "is", null)
      .where("links.expires_at", ">", now)
      .executeTakeFirst();
  return {
    insert: (link) =>
      transact(async ({ db }) => {
        await db.deleteFrom("links").where("expires_at", "<=", link.created_at).execute();
        await db
          .insertInto("links")
          .values({ ...link, email: link.email?.toLowerCase() ?? null })
          .execute();
      }),
    findByTokenHash,
    async use(tokenHash, kind, now) {
      const link = await findByTokenHash(tokenHash, now);
      if (link?.kind !== kind) return undefined;
      // Of several that have found it, this lets one through.
      const used = db.updateTable("links").set({ used_at: now }).where("id", "=", link.id).where("used_at", "is", null);
      return (await changed(db, used)) === 1 ? link : undefined;
    },
    withdraw: (kind, userId) =>
      changed(
        db,
        db
          .deleteFrom("links")
          .where("kind", "=", kind)
          .where("used_at", "is", null)
          .where((is) => is.and(stated({ user_id: userId }))),
      ),
  };
}
