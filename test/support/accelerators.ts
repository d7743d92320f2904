/** Chooses what serves each contract in these tests: the accelerators that their environment names, all where it names none. */
import { chooseAccelerators } from "../../src/composition/accelerators.ts";
import { loadConfig } from "../../src/config/config.ts";
import { environment } from "./environment.ts";

const chosen = loadConfig(undefined, environment).accelerators;

export const accelerators = await chooseAccelerators(chosen);

/** Makes the ledger with leases, whatever the environment names: for tests of what only that one does. */
export const createLeasingLedger = (await chooseAccelerators(new Set(["leases"]))).createLedger;

/** Makes the plain ledger, which asks the database for each hold and each charge, whatever the environment names. */
export const createPlainLedger = (await chooseAccelerators(new Set())).createLedger;

/** Configuration with the ledger with leases and its journal, and what else the environment names. */
export const withLeases = { accelerators: new Set([...chosen, "leases" as const, "journal" as const]) };
