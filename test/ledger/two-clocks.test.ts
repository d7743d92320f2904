/**
 * The ledger of a gateway looks at the machine's own clock, and not at that of the read: a process that was stopped in the midst
 * of one draws on no lease that has lapsed.
 */
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createShared, type Shared } from "../../src/composition/parts.ts";
import { loadConfig } from "../../src/config/config.ts";
import { holdMs } from "../../src/ledger/contract.ts";
import { newId } from "../../src/runtime/ids.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { openStorage, type Storage } from "../../src/storage/storage.ts";
import { withLeases } from "../support/accelerators.ts";
import { temporaryFolder } from "../support/command.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let storage: Storage;
let shared: Shared;
/** By the machine's clock; that of the read stands at its beginning. */
let moment: number;

beforeEach(async () => {
  folder = await temporaryFolder();
  storage = await openStorage(join(folder.path, "gateway.db"));
  const begun = Date.UTC(2026, 0, 2);
  moment = begun;
  shared = createShared({
    ...{ config: { ...loadConfig(undefined, {}), ...withLeases }, storage, log: pino({ level: "silent" }) },
    ...{ clock: () => begun, exactClock: () => moment, random: Math.random },
  });
});

afterEach(async () => {
  await shared.ledger.close();
  await storage.close();
  await folder.remove();
});

test("what was leased before the process stood still is drawn on no more", async () => {
  const now = moment;
  const accountId = newId("acc", now);
  storage.accounts.insert({ id: accountId, name: "test", created_at: now });
  storage.entries.record({ id: newId("led", now), accountId, kind: 1, amount: 1_000_000, note: null, now });
  const { key } = issueKey(storage.keys, { accountId, name: "test", admin: false, now });
  const holdOf = (requestId: string) =>
    shared.ledger.hold({
      ...{ requestId, accountId, keyId: key.id, operation: "chat", model: "m", max: 10, min: 10, now },
      ...{ isLimited: false, asOf: storage.ledger.version() },
    });
  await holdOf("first");
  // From its lease a call has what it asks for at once; the database's word is waited for.
  expect(holdOf("second")).not.toBeInstanceOf(Promise);
  moment += holdMs;
  const third = holdOf("third");
  expect(third).toBeInstanceOf(Promise);
  expect(await third).toMatchObject({ kind: "held", amount: 10 });
});
