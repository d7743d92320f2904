/** Accounts and their money over a real database, with the services asked as the pipeline asks them. */
import type { DescMessage, DescMethod, JsonObject } from "@bufbuild/protobuf";
import { AccountService } from "../../../gen/modelgateway/v1/accounts_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { UsageService } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { type Answer, anyRoom, type Call, type Caller, here, nobody, operatorCaller } from "../../../src/call/call.ts";
import { newCallRecord } from "../../../src/call/call-record.ts";
import { asRefusal, type Refusal } from "../../../src/call/refusals.ts";
import { defaultTiers } from "../../../src/call/tiers.ts";
import { storedConfiguration } from "../../../src/commands/stored-configuration.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { createMemoryLimiter } from "../../../src/limits/memory.ts";
import { createLimit } from "../../../src/pipeline/admit/limit.ts";
import { createValidate } from "../../../src/pipeline/check/validate.ts";
import { accountService } from "../../../src/services/accounts/accounts.ts";
import { operatorService } from "../../../src/services/operator/operator.ts";
import { usageService } from "../../../src/services/usage/usage.ts";
import type { Capture } from "../../../src/storage/money/contract.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { createCatalog } from "../../../src/targets/catalog.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { newTestDatabase, type TestDatabase } from "../storage/test-database.ts";
import { type DirectMoney, directMoney } from "./direct.ts";

export interface Bank {
  readonly database: TestDatabase;
  readonly storage: Storage;
  /** Money moved past any ledger. It moves the database's clock. */
  readonly money: DirectMoney;
  /** Moves the clock on, by milliseconds. */
  pass(ms: number): void;
  now(): number;
  /** Asks an RPC by its name, as the operator or for an account, and returns the public JSON of its answer. */
  ask(method: string, request?: JsonObject, as?: { account?: string; idempotencyKey?: string }): Promise<JsonObject>;
  /** Asks what is refused. */
  refused(method: string, request?: JsonObject, as?: { account?: string; idempotencyKey?: string }): Promise<Refusal>;
  /** Asks for the calls of an account as a table. */
  csv(
    account: string,
    request?: JsonObject,
  ): Promise<{ text: string; pieces: number; contentType: string | undefined }>;
  /** Charges calls in one transaction, to keys that are made where they are missing. */
  charge(
    account: string,
    ...calls: (Partial<Capture> & { readonly id: string; readonly key_id: string })[]
  ): Promise<void>;
  /** Changes the database behind everybody's back, when all that is due has been added up. */
  tamper(sql: string): Promise<void>;
  close(): Promise<void>;
}

const services = { ...AccountService.method, ...OperatorService.method, ...UsageService.method };

/** config is what no file and no variable changes; the catalogue is read once. */
const config = loadConfig(undefined, {});

export async function openBank(): Promise<Bank> {
  const database = await newTestDatabase();
  const storage = await database.open();
  let time = Date.UTC(2026, 0, 2, 3, 4, 5);
  const clock = () => time;
  const { accountRate } = createLimit({ limiter: createMemoryLimiter(clock), clock });
  const stored = storedConfiguration(storage, { ...config, dataDir: database.dataDir }, undefined);
  const settings = () => config;
  const implementations = {
    ...accountService({
      ...storage,
      catalog: createCatalog([]),
      settings: () => ({ tiers: defaultTiers }),
      unit: "JPY",
      clock,
      accountRate,
    }),
    ...operatorService({ storage, settings, clock, services: [], upstreams: () => [], stored }),
    ...usageService({ ...storage, clock }),
  } as unknown as Readonly<Record<string, (call: Call) => Promise<Answer>>>;

  async function answerOf(name: string, json: JsonObject, as: { account?: string; idempotencyKey?: string }) {
    const method = (services as Readonly<Record<string, DescMethod>>)[name] as DescMethod;
    const request = Wire.ofJson(method.input, json) as Wire<DescMessage>;
    createValidate()(request);
    const header = (key: string) => (key === "idempotency-key" ? as.idempotencyKey : undefined);
    const call = {
      id: "req_test",
      method,
      ...{ header, peer: here },
      caller: callerOf(as.account),
      request,
      body: anyRoom,
      signal: new AbortController().signal,
      record: newCallRecord(),
    };
    return (implementations[name] as (call: Call) => Promise<Answer>)(call);
  }

  const bank: Bank = {
    database,
    storage,
    money: directMoney(storage, database.setClock),
    pass(ms) {
      time += ms;
    },
    now: clock,
    async ask(name, json = {}, as = {}) {
      const answer = await answerOf(name, json, as);
      if (answer.kind !== "whole") throw new Error("a stream");
      return answer.body.json();
    },
    refused: (name, json = {}, as = {}) =>
      answerOf(name, json, as).then(() => {
        throw new Error(`${name} was answered`);
      }, asRefusal),
    async csv(account, json = {}) {
      const answer = await answerOf("exportRequests", json, { account });
      if (answer.kind !== "stream") throw new Error("no stream");
      const frames = [];
      for await (const batch of answer.frames) frames.push(...batch);
      const pieces = frames.map((frame) => frame.message() as unknown as { csv: Uint8Array; contentType?: string });
      const text = pieces.map(({ csv }) => Buffer.from(csv).toString()).join("");
      return { text, pieces: pieces.length, contentType: pieces[0]?.contentType };
    },
    async charge(account_id, ...calls) {
      for (const id of new Set(calls.map(({ key_id }) => key_id))) {
        if (await storage.keys.findWithAccount(id)) continue;
        const names = { id, account_id, name: "k", secret_hash: id, secret_mask: "m" };
        await storage.keys.insert({ ...names, created_at: time });
      }
      const usage = { input: 1, cache_read: 2, cache_write: 3, output: 4, reasoning: 1, characters: 0, estimated: 0 };
      const names = { account_id, operation: "chat", model: "m", upstream: "u", outcome: 1 };
      const times = { created_at: time, duration_ms: 7, first_byte_ms: 3 };
      await directMoney(storage).captureAll(calls.map((call) => ({ ...names, ...usage, cost: 0, ...times, ...call })));
    },
    async tamper(sql) {
      for (const { id } of await storage.accounts.list()) await storage.recall(id);
      await database.exec(sql);
    },
    async close() {
      await storage.close();
      await database.remove();
    },
  };
  return bank;
}

function callerOf(accountId: string | undefined): Caller {
  return accountId === undefined ? operatorCaller : { ...nobody, rights: "admin", accountId, tier: defaultTiers[0] };
}
