/** The migrations of all engines, in their order. Those before are SQLite's alone (`sqlite/migrations`). */
import * as accountsNow from "./0017-accounts-now.ts";
import * as moves from "./0018-moves.ts";
import type { SharedMigration } from "./migration.ts";

export const sharedMigrations: readonly SharedMigration[] = [
  { name: "0017-accounts-now", ...accountsNow },
  { name: "0018-moves", ...moves },
];
