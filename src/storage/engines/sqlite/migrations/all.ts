/** How the tables came to be, step by step: each is done once, in this order. */
import type { Migration, MigrationProvider } from "kysely/migration";
import { sharedMigrations } from "../../migrations/all.ts";
import * as accountsAndKeys from "./0001-accounts-and-keys.ts";
import * as responses from "./0002-responses.ts";
import * as money from "./0003-money.ts";
import * as dashboard from "./0004-dashboard.ts";
import * as attempts from "./0005-attempts.ts";
import * as replays from "./0006-replays.ts";
import * as retention from "./0007-retention.ts";
import * as journal from "./0008-journal.ts";
import * as oneRowACall from "./0009-one-row-a-call.ts";
import * as dueSums from "./0010-due-sums.ts";
import * as notesInLists from "./0011-notes-in-lists.ts";
import * as backgroundResponses from "./0012-background-responses.ts";
import * as prices from "./0013-prices.ts";
import * as proof from "./0015-proof.ts";
import * as journalChain from "./0016-journal-chain.ts";

const ofAllEngines: Readonly<Record<string, Migration>> = Object.fromEntries(
  sharedMigrations.map(({ name, up }) => [name, { up: (db) => up(db, "sqlite") }]),
);

export const migrations: MigrationProvider = {
  getMigrations: async () => ({
    "0001-accounts-and-keys": accountsAndKeys,
    "0002-responses": responses,
    "0003-money": money,
    "0004-dashboard": dashboard,
    "0005-attempts": attempts,
    "0006-replays": replays,
    "0007-retention": retention,
    "0008-journal": journal,
    "0009-one-row-a-call": oneRowACall,
    "0010-due-sums": dueSums,
    "0011-notes-in-lists": notesInLists,
    "0012-background-responses": backgroundResponses,
    "0013-prices": prices,
    "0015-proof": proof,
    "0016-journal-chain": journalChain,
    ...ofAllEngines,
  }),
};
