/** Lists how the tables came to be, step by step: each is done once, in this order. */
import type { Migration, MigrationProvider } from "kysely/migration";
import { sharedMigrations } from "../migrations/all.ts";
import * as accountsAndKeys from "./migrations/0001-accounts-and-keys.ts";
import * as responses from "./migrations/0002-responses.ts";
import * as money from "./migrations/0003-money.ts";
import * as dashboard from "./migrations/0004-dashboard.ts";
import * as attempts from "./migrations/0005-attempts.ts";
import * as replays from "./migrations/0006-replays.ts";
import * as retention from "./migrations/0007-retention.ts";
import * as journal from "./migrations/0008-journal.ts";
import * as oneRowACall from "./migrations/0009-one-row-a-call.ts";
import * as dueSums from "./migrations/0010-due-sums.ts";
import * as notesInLists from "./migrations/0011-notes-in-lists.ts";
import * as backgroundResponses from "./migrations/0012-background-responses.ts";
import * as prices from "./migrations/0013-prices.ts";
import * as proof from "./migrations/0015-proof.ts";
import * as journalChain from "./migrations/0016-journal-chain.ts";

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
