/** The migrations of all engines, in their order. Those before are SQLite's alone (`sqlite/migrations`). */
import * as accountsNow from "./0017-accounts-now.ts";
import * as moves from "./0018-moves.ts";
import * as changedNames from "./0019-changed-names.ts";
import * as configurations from "./0020-configurations.ts";
import * as budgets from "./0021-budgets.ts";
import * as keyLimits from "./0022-key-limits.ts";
import * as refusedCalls from "./0023-refused-calls.ts";
import * as holdsByArrival from "./0024-holds-by-arrival.ts";
import * as waivedInJournals from "./0025-waived-in-journals.ts";
import * as actsByActor from "./0026-acts-by-actor.ts";
import type { SharedMigration } from "./migration.ts";

export const sharedMigrations: readonly SharedMigration[] = [
  { name: "0017-accounts-now", ...accountsNow },
  { name: "0018-moves", ...moves },
  { name: "0019-changed-names", ...changedNames },
  { name: "0020-configurations", ...configurations },
  { name: "0021-budgets", ...budgets },
  { name: "0022-key-limits", ...keyLimits },
  { name: "0023-refused-calls", ...refusedCalls },
  { name: "0024-holds-by-arrival", ...holdsByArrival },
  { name: "0025-waived-in-journals", ...waivedInJournals },
  { name: "0026-acts-by-actor", ...actsByActor },
];
