/**
 * The versions of the configuration: documents that operators have stored. Rows are only added, each with the version after the highest,
 * so of two who change the same version one is told that the other came first.
 */
import type { Insertable, Selectable } from "kysely";
import { ofConfiguration } from "../engines/changed-names.ts";
import { type Scope, stated } from "../engines/scope.ts";
import type { Changes } from "../money/books.ts";
import type { ConfigurationTable } from "../schema-people.ts";

export type NewConfiguration = Insertable<ConfigurationTable>;

/** ConfigurationVersion is a version without its document. */
export interface ConfigurationVersion extends Omit<Selectable<ConfigurationTable>, "document"> {
  /** The e-mail address of the user who made it; null where it was nobody, or somebody who was removed. */
  readonly actor_name: string | null;
}

export interface ConfigurationRow extends ConfigurationVersion {
  readonly document: string;
}

export interface ConfigurationStore {
  /** Returns the highest version; 0 where nothing was ever stored. */
  highestVersion(): Promise<number>;
  /** Finds a version, the highest unless one is named. */
  find(version?: number): Promise<ConfigurationRow | undefined>;
  /** Lists versions below `before`, newest first. */
  page(before: number | undefined, limit: number): Promise<ConfigurationVersion[]>;
  /** Adds the version after the highest. Does nothing and resolves to false where another is the highest by now. */
  add(configuration: NewConfiguration): Promise<boolean>;
}

export function configurationStore({ unflushed, transact }: Scope): ConfigurationStore {
  // No sum of money depends on them.
  const versions = () =>
    unflushed
      .selectFrom("configurations")
      .leftJoin("users", "users.id", "configurations.actor_id")
      .select(["version", "configurations.created_at", "actor_kind", "actor_id", "note", "changed"])
      .select("users.email as actor_name")
      .orderBy("version", "desc");
  return {
    async highestVersion() {
      const row = await unflushed
        .selectFrom("configurations")
        .select("version")
        .orderBy("version", "desc")
        .limit(1)
        .executeTakeFirst();
      return row?.version ?? 0;
    },
    find: (version) =>
      versions()
        .select("document")
        .where((is) => is.and(stated({ version })))
        .limit(1)
        .executeTakeFirst(),
    page: (before, limit) =>
      versions()
        .$if(before !== undefined, (query) => query.where("version", "<", before as number))
        .limit(limit)
        .execute(),
    add: (configuration) =>
      transact(async ({ db }) => {
        const { highest } = await db
          .selectFrom("configurations")
          .select(({ fn }) => fn.max("version").as("highest"))
          .executeTakeFirstOrThrow();
        if ((highest ?? 0) !== configuration.version - 1) return false;
        // On Postgres two may have read the same highest version: the key lets one of them through.
        const { numInsertedOrUpdatedRows = 0n } = await db
          .insertInto("configurations")
          .values(configuration)
          .onConflict((conflict) => conflict.column("version").doNothing())
          .executeTakeFirst();
        return numInsertedOrUpdatedRows === 1n;
      }),
  };
}

/** configurationChangedSince reports whether a version may have been added since the stored data had the version `asOf`. */
export function configurationChangedSince({ changedSince }: Changes, asOf: number): boolean {
  return changedSince(asOf, ofConfiguration, ofConfiguration);
}
