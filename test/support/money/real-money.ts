/** One account and one key in a real SQLite file, and two processes' views of it, for the property test. */
import { deepStrictEqual } from "node:assert";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Capture } from "../../../src/ledger/contract.ts";
import { openDatabase } from "../../../src/storage/engines/sqlite/database.ts";
import type { Recorded } from "../../../src/storage/money/entries.ts";
import type { Claimed } from "../../../src/storage/money/redeem-codes.ts";
import { openStorage, type Storage } from "../../../src/storage/storage.ts";
import { accelerators } from "../accelerators.ts";
import { createLedger, type LedgerByIds } from "./ledger-by-ids.ts";
import { heldOf, type MoneyModel } from "./money-model.ts";
import { reconcile } from "./proof.ts";

export interface MoneyProcess {
  readonly ledger: LedgerByIds;
  readonly storage: Storage;
}

export interface RealMoney {
  readonly processes: readonly MoneyProcess[];
  setNow(now: number): void;
  newRequestId(): string;
  /** Makes a redeem code, and returns its hash. */
  newCode(amount: number): Promise<string>;
  record(process: number, kind: 1 | 2 | 3, amount: number): Promise<Recorded>;
  redeem(process: number, codeHash: string): Promise<Claimed>;
  setLimit(process: number, limit: number | null): Promise<string>;
  setPostpaid(postpaid: boolean): Promise<void>;
  /** Rejects unless every sum is as the model has it, and the proof of the sums is clean. */
  compare(model: MoneyModel): Promise<void>;
  close(): Promise<void>;
}

const accountId = "acc_1";
const keyId = "key_1";

/** Makes a database with the account and the key, to be copied for each run. */
export async function seedMoney(): Promise<{ file: string; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "money-test-"));
  const file = join(folder, "seed.db");
  const storage = await openStorage(file);
  await storage.accounts.insert({ id: accountId, name: "one", created_at: 1 });
  const secret = { secret_hash: "h", secret_mask: "m" };
  await storage.keys.insert({ id: keyId, account_id: accountId, name: "k", ...secret, created_at: 1 });
  await storage.close();
  return { file, remove: () => rm(folder, { recursive: true }) };
}

export async function openMoney(seed: string, now: number): Promise<RealMoney> {
  const folder = await mkdtemp(join(tmpdir(), "money-test-"));
  const file = join(folder, "gateway.db");
  await copyFile(seed, file);
  let time = now;
  let made = 0;
  const onError = (error: unknown) => {
    throw error;
  };
  const open = async (): Promise<MoneyProcess> => {
    const storage = await openStorage(file);
    return {
      storage,
      ledger: createLedger({ openBooks: storage.openBooks(accelerators.hasJournal), clock: () => time, onError }),
    };
  };
  const processes = [await open(), await open()];
  const storageOf = (process: number) => (processes[process] as MoneyProcess).storage;
  const sums = await openDatabase(file);
  const rows = sums.engine.prepare<[], Record<string, number>>(
    `SELECT balance, recharged, a.held, k.held AS held_of_key, spent,
       (SELECT count(*) FROM ledger_entries WHERE kind <> 4) AS entries,
       (SELECT count(*) FROM requests WHERE cost > 0) AS charges,
       (SELECT count(*) FROM requests WHERE outcome <> 5) AS settled,
       (SELECT count(*) FROM requests WHERE outcome = 5) AS lost,
       (SELECT count(*) FROM holds) AS holds
     FROM accounts a JOIN api_keys k ON k.account_id = a.id`,
  );
  return {
    processes,
    setNow(now) {
      time = now;
    },
    newRequestId: () => `req_${made++}`,
    async newCode(amount) {
      const id = `code_${made++}`;
      const code = { id, batch_id: "b", code_hash: id, code_mask: "m", amount, note: null, created_at: time };
      await storageOf(0).redeemCodes.insert([{ ...code, expires_at: null }]);
      return id;
    },
    record: (process, kind, amount) =>
      storageOf(process).entries.record({ id: `led_e${made++}`, accountId, kind, amount, note: null, now: time }),
    redeem: (process, codeHash) =>
      storageOf(process).redeemCodes.claim({ codeHash, accountId, entryId: `led_e${made++}`, now: time }),
    setLimit: async (process, credit_limit) =>
      (await storageOf(process).keys.update(accountId, keyId, { credit_limit })).kind,
    setPostpaid: async (postpaid) =>
      void (await storageOf(1).accounts.update(accountId, { postpaid: postpaid ? 1 : 0 })),
    async compare(model) {
      for (const { storage } of processes) await storage.holds.total();
      const { balance, recharged, spent, entries, charges, calls } = model;
      const held = heldOf(model);
      const count = (state: string) => calls.filter((call) => call.state === state).length;
      const states = { settled: count("settled"), lost: count("lost"), holds: count("held") };
      deepStrictEqual(
        { ...rows.get() },
        { balance, recharged, held, held_of_key: held, spent, entries, charges, ...states },
      );
      deepStrictEqual((await reconcile(sums.engine)).findings, []);
    },
    async close() {
      await sums.db.destroy();
      for (const { ledger, storage } of processes) {
        await ledger.close();
        await storage.close();
      }
      await rm(folder, { recursive: true });
    },
  };
}

/** What a call asks to be held. */
export function holdRequest(requestId: string, { max, min }: { max: number; min: number }, now: number) {
  return { requestId, accountId, keyId, isLimited: true, operation: "chat", model: "m", max, min, now };
}

/** A call that is over. */
export function endedCall(id: string, cost: number, now: number): Capture {
  const usage = { input: cost, cache_read: 0, cache_write: 0, output: 0, reasoning: 0, characters: 0 };
  const names = { account_id: accountId, key_id: keyId, operation: "chat", model: "m", upstream: "u" };
  return { id, ...names, outcome: 1, ...usage, estimated: 0, cost, created_at: now, duration_ms: 5, first_byte_ms: 3 };
}
