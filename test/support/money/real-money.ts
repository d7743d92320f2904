/** One account and one key in a real database, and two processes' views of it, for the property test. */
import { deepStrictEqual } from "node:assert";
import type { Capture } from "../../../src/ledger/contract.ts";
import type { Recorded } from "../../../src/storage/money/entries.ts";
import type { Claimed } from "../../../src/storage/money/redeem-codes.ts";
import { reconciled } from "../../../src/storage/proof/proof.ts";
import { proveAndRepair } from "../../../src/storage/proof/repair.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { accelerators } from "../accelerators.ts";
import { newTestDatabase } from "../storage/test-database.ts";
import { createLedger, type LedgerByIds } from "./ledger-by-ids.ts";
import { heldOf, type MoneyModel } from "./money-model.ts";
import { openToProve } from "./proof.ts";

export interface MoneyProcess {
  readonly ledger: LedgerByIds;
  readonly storage: Storage;
}

export interface RealMoney {
  readonly processes: readonly MoneyProcess[];
  setNow(now: number): Promise<void>;
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

/** Makes a database with the account and the key, and opens it in both processes. */
export async function openMoney(now: number): Promise<RealMoney> {
  const database = await newTestDatabase();
  let time = now;
  let made = 0;
  const onError = (error: unknown) => {
    throw error;
  };
  const open = async (): Promise<MoneyProcess> => {
    const storage = await database.open();
    return {
      storage,
      ledger: createLedger({ openBooks: storage.openBooks(accelerators.hasJournal), clock: () => time, onError }),
    };
  };
  const processes = [await open(), await open()];
  await database.forgetProcesses();
  const storageOf = (process: number) => (processes[process] as MoneyProcess).storage;
  await storageOf(0).accounts.insert({ id: accountId, name: "one", created_at: 1 });
  const secret = { secret_hash: "h", secret_mask: "m" };
  await storageOf(0).keys.insert({ id: keyId, account_id: accountId, name: "k", ...secret, created_at: 1 });
  await database.setClock(now);
  const proving = await openToProve(database);
  const sums = `SELECT balance, recharged, a.held, k.held AS held_of_key, spent,
       (SELECT count(*) FROM ledger_entries WHERE kind <> 4) AS entries,
       (SELECT count(*) FROM requests WHERE cost > 0) AS charges,
       (SELECT count(*) FROM requests WHERE outcome <> 5) AS settled,
       (SELECT count(*) FROM requests WHERE outcome = 5) AS lost,
       (SELECT count(*) FROM holds) AS holds
     FROM accounts_now a JOIN api_keys_now k ON k.account_id = a.id`;
  return {
    processes,
    async setNow(now) {
      time = now;
      await database.setClock(now);
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
      await storageOf(0).recall(accountId);
      const { balance, recharged, spent, entries, charges, calls } = model;
      const held = heldOf(model);
      const count = (state: string) => calls.filter((call) => call.state === state).length;
      const states = { settled: count("settled"), lost: count("lost"), holds: count("held") };
      const [rows] = await database.query(sums);
      deepStrictEqual({ ...rows }, { balance, recharged, held, held_of_key: held, spent, entries, charges, ...states });
      deepStrictEqual((await reconciled(proveAndRepair(proving, { now: 0 }))).findings, []);
    },
    async close() {
      for (const { ledger, storage } of processes) {
        await ledger.close();
        await storage.close();
      }
      await proving.destroy();
      await database.remove();
    },
  };
}

/** Returns what a call asks to be held. */
export function holdRequest(requestId: string, { max, min }: { max: number; min: number }, now: number) {
  return { requestId, accountId, keyId, isLimited: true, operation: "chat", model: "m", max, min, now };
}

/** A call that is over. */
export function endedCall(id: string, cost: number, now: number): Capture {
  const usage = { input: cost, cache_read: 0, cache_write: 0, output: 0, reasoning: 0, characters: 0 };
  const names = { account_id: accountId, key_id: keyId, operation: "chat", model: "m", upstream: "u" };
  return { id, ...names, outcome: 1, ...usage, estimated: 0, cost, created_at: now, duration_ms: 5, first_byte_ms: 3 };
}
