/** What refused calls leave is written in batches off their way, within bounds, and adds up. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { type Arrival, nobody } from "../../../src/call/call.ts";
import { newCallRecord } from "../../../src/call/call-record.ts";
import { invalidValue, rateLimited } from "../../../src/call/refusals.ts";
import { createRefusedCalls, type RefusedCalls } from "../../../src/pipeline/refused/refused-calls.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { keptOfAccount, type RefusedBatch } from "../../../src/storage/calls/refused.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { heldMemory } from "../../support/run/garbage.ts";
import { newTestDatabase, type TestDatabase } from "../../support/storage/test-database.ts";

const noon = Date.UTC(2026, 3, 2, 12);
let database: TestDatabase;
let storage: Storage;
let now: number;

beforeAll(async () => {
  database = await newTestDatabase();
  storage = await database.open();
});
afterAll(async () => {
  await storage.close();
  await database.remove();
});
beforeEach(() => {
  now = noon;
});

interface Made {
  readonly account?: string;
  readonly key?: string;
  readonly model?: string;
}

function refuse(
  { observer }: RefusedCalls,
  { account = "acc_1", key = "key_1", model = "m" }: Made = {},
  refusal = rateLimited("3 requests a minute", 1000),
): void {
  const arrival = { id: newId("req", now), method: InferenceService.method.createChatCompletion } as unknown as Arrival;
  const caller = { ...nobody, rights: "key" as const, accountId: account, keyId: key };
  observer.ended({ arrival, caller, record: { ...newCallRecord(), model }, begunAt: now, endedAt: now, refusal });
}

function refusedBy(write: (batch: RefusedBatch) => Promise<void>, errors: unknown[] = []): RefusedCalls {
  return createRefusedCalls({
    ...{ write, node: newId("nod", now), clock: () => now, onError: (error) => void errors.push(error) },
    // The tests say when.
    ...{ modelId: (name) => (name === "unknown" ? undefined : name), everyMs: 3_600_000 },
  });
}

const totalOf = async (account: string) =>
  (
    await storage.refused.sums(
      { accountId: account, from: noon - 3_600_000, to: noon + 86_400_000, bucketMs: 60_000, groupBy: "key_id" },
      10,
    )
  ).total;

test.each([
  ["messages[0].role", "messages[0].role"],
  ["messages[12].content[3].text", "messages[12].content[3].text"],
  ["metadata.a name of the caller's", "metadata"],
  ["logit_bias.50256", "logit_bias"],
  ["metadata.role[4111111111111111]", "metadata.role"],
  ["response_format.json_schema.schema.properties.patient", "response_format.json_schema.schema"],
  ["what is that", ""],
])("of the field %s that was wrong %s is kept: nothing that the caller has named", async (param, kept) => {
  const written: RefusedBatch[] = [];
  const calls = refusedBy(async (batch) => void written.push(batch));
  refuse(calls, {}, invalidValue(param, "expected something else"));
  await calls.close();
  expect(written[0]?.calls).toMatchObject([{ detail: kept }]);
});

test("a hundred thousand refusals are counted to the last, in a few writes; the last of them are listed", async () => {
  const writes: RefusedBatch[] = [];
  const refused = refusedBy(async (batch) => {
    writes.push(batch);
    await storage.refused.write(batch);
  });
  const { heapUsed: before } = await heldMemory();
  for (let i = 0; i < 100_000; i++) refuse(refused, { account: "acc_many", key: `key_${i % 3}` });
  // Were all of them held, it would be a hundred megabytes.
  expect((await heldMemory()).heapUsed - before).toBeLessThan(10_000_000);
  await refused.flush();
  await refused.close();
  expect(await totalOf("acc_many")).toBe(100_000);
  expect(refused.lost()).toBe(0);
  expect(writes.flatMap(({ counts }) => counts)).toHaveLength(3);
  const listed = await storage.refused.page({ accountId: "acc_many" }, undefined, 1000);
  expect(listed).toHaveLength(100);
  expect(listed[0]).toMatchObject({ reason: 25, status: 429, operation: "chat", model: "m" });
});

test("a batch that failed, or was written though it seemed to fail, counts once", async () => {
  let fails = 0;
  const errors: unknown[] = [];
  const refused = refusedBy(async (batch) => {
    if (fails !== 1) await storage.refused.write(batch);
    if (fails-- > 0) throw new Error("the connection broke");
  }, errors);
  const count = async (of: number) => {
    for (let i = 0; i < of; i++) refuse(refused, { account: "acc_twice", key: `key_${i % 120}` });
    await refused.flush();
  };
  fails = 2; // Written, and not known to be.
  await count(300);
  fails = 1; // Not written.
  await count(300);
  fails = 0;
  await count(300);
  expect(await totalOf("acc_twice")).toBe(900);
  // Told once a minute.
  expect(errors).toHaveLength(1);
  // The next minute has rows of its own.
  now += 61_000;
  await count(100);
  await count(100);
  expect(await totalOf("acc_twice")).toBe(1100);
  // A clock that is set back has nothing counted anew.
  now -= 61_000;
  await count(100);
  expect(await totalOf("acc_twice")).toBe(1200);
  await refused.close();
});

test("storage that does not answer is never waited for: memory has a bound, and what is lost is counted", async () => {
  const refused = refusedBy(() => new Promise(() => {}));
  void refused.flush();
  for (let minute = 0; minute < 5; minute++, now += 60_000)
    for (let i = 0; i < 10_000; i++) refuse(refused, { account: `acc_${i % 1000}`, key: `key_${i}`, model: "unknown" });
  // Twenty thousand counts are held: those of the last two minutes.
  expect(refused.lost()).toBe(30_000);
  // More in one minute than are held at all.
  for (let i = 0; i < 30_000; i++) refuse(refused, { key: `key_of_one_minute_${i}` });
  expect(refused.lost()).toBe(30_000 + 20_000 + 10_000);
});

test("the oldest of an account are deleted, and no other account's", async () => {
  for (const account of ["acc_much", "acc_little"])
    for (let i = 0; i < (account === "acc_much" ? keptOfAccount + 500 : 30); i += 50) {
      const calls = Array.from({ length: 50 }, (_, n) => ({
        ...{ id: newId("req", noon + i + n), account_id: account, key_id: "key_1", operation: "chat", model: "m" },
        ...{ reason: 25, status: 429, detail: "", created_at: noon + i + n },
      }));
      await storage.refused.write({ counts: [], calls });
    }
  const count = async (accountId: string) => (await storage.refused.page({ accountId }, undefined, 5000)).length;
  const much = await count("acc_much");
  expect(much).toBeGreaterThanOrEqual(keptOfAccount);
  expect(much).toBeLessThanOrEqual(keptOfAccount + 100);
  expect(await count("acc_little")).toBe(50);
  const [newest] = await storage.refused.page({ accountId: "acc_much" }, undefined, 1);
  expect(newest?.created_at).toBe(noon + keptOfAccount + 499);
});
