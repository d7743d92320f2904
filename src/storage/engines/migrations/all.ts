/** The migrations of all engines, in their order. Those before are SQLite's alone (`sqlite/migrations`). */
import * as accountsNow from "./0017-accounts-now.ts";
import type { SharedMigration } from "./migration.ts";

export const sharedMigrations: readonly SharedMigration[] = [{ name: "0017-accounts-now", ...accountsNow }];
