/** Calls are summed by what ListUsage does not keep: how they ended, where, and how long they took. */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../../../src/runtime/ids.ts";
import type { Capture } from "../../../src/storage/columns.ts";
import { askRpc, bearer } from "../../support/dashboard/session.ts";
import { type AskedTotals, totalsOf } from "../../support/dashboard/summaries.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";

const operatorKey = "operator-key-of-the-test";
const hour = 3_600_000;
const noon = Date.UTC(2026, 3, 2, 12);
let gateway: TestGateway;
let otherId: string;

beforeAll(async () => {
  gateway = await startTestGateway({ operatorKey }, { admin: true, clock: () => noon + 50 * hour });
  otherId = newId("acc");
  await gateway.storage.accounts.insert({ id: otherId, name: "Other", created_at: noon, postpaid: 1 });
  await record([
    // Two hundred answers of 100 ms and ten of ten seconds.
    ...Array.from({ length: 200 }, (_, n) => ({ at: noon + n, duration_ms: 100, first_byte_ms: 50, cost: 3 })),
    ...Array.from({ length: 20 }, (_, n) => ({ at: noon + hour + n, duration_ms: 10_000, cost: 7, upstream: "west" })),
    { at: noon + 2, outcome: 2, cost: 0, duration_ms: 60_000 },
    { at: noon + 3, outcome: 3, cost: 1 },
    { at: noon + 4, outcome: 4, cost: 0 },
    { at: noon + 6, outcome: 6, cost: 0 },
    { at: noon + 24 * hour, outcome: 1, cost: 100, cached: 1, upstream: "" },
    { at: noon + 5, account_id: otherId, key_id: "key_other", cost: 1_000 },
  ]);
});

afterAll(() => gateway.close());

type Made = Partial<Capture> & { readonly at: number };

async function record(calls: readonly Made[]): Promise<void> {
  const books = gateway.storage.openBooks(false)({
    node: newId("nod"),
    clock: () => noon,
    onError: (error) => expect(error).toBeUndefined(),
    recall: () => ({ records: [], leases: [] }),
  });
  const captures = calls.map(({ at, ...call }) => ({ call: { ...base(at), ...call }, most: call.cost ?? 0 }));
  await books.decide(() => ({ records: [], leases: [], releases: [], holds: [], captures }));
  await books.close();
}

function base(at: number): Capture {
  return {
    ...{ id: newId("req", at), account_id: gateway.accountId, key_id: "key_1", created_at: at, operation: "chat" },
    ...{ model: "gpt", upstream: "east", outcome: 1, input: 5, cache_read: 1, cache_write: 2, output: 4, reasoning: 3 },
    ...{ characters: 0, estimated: 0, cost: 0, duration_ms: 200, first_byte_ms: null },
  } as Capture;
}

const span = { from: new Date(noon).toISOString(), to: new Date(noon + 30 * hour).toISOString() };

async function summary(request: JsonObject = {}): Promise<AskedTotals> {
  const { filter = {}, ...more } = request as { filter?: JsonObject };
  const asked = { ...more, filter: { ...span, ...filter } };
  return totalsOf(await askRpc(gateway, "UsageService.SummarizeRequests", asked, bearer(gateway.apiKey)));
}

test("errors are what failed, broke off or was lost, and neither callers who left nor requests that were rejected", async () => {
  const { total } = await summary();
  expect(total).toMatchObject({ requests: "225", errors: "2", cached: "1", cost: String(200 * 3 + 20 * 7 + 1 + 100) });
  expect(total.usage).toMatchObject({ inputTokens: String(225 * 5), outputTokens: String(225 * 4) });
});

test("latencies are those of answers, and near enough", async () => {
  const { total, groups } = await summary({ groupBy: "REQUEST_GROUP_UPSTREAM" });
  const within = (value: unknown, of: number) => Math.abs(Number(value) / of - 1) <= 0.04;
  expect(within(total.durationP50Ms, 100)).toBe(true);
  expect(within(total.durationP95Ms, 10_000)).toBe(true);
  expect(within(total.firstByteP95Ms, 50)).toBe(true);
  expect(groups.map(({ group = "" }) => group)).toEqual(["east", "west", ""]);
  expect(within(groups[0]?.durationP95Ms, 100)).toBe(true);
  expect(groups[1]).not.toHaveProperty("firstByteP50Ms");
});

test("buckets are hours or days of UTC, and those without calls are left out", async () => {
  const hours = await summary({ bucket: "BUCKET_HOUR" });
  expect(hours.sums.map(({ beginsAt, requests, tokens }) => [beginsAt, requests, tokens])).toEqual([
    ["2026-04-02T12:00:00Z", "204", String(204 * 12)],
    ["2026-04-02T13:00:00Z", "20", "240"],
    ["2026-04-03T12:00:00Z", "1", "12"],
  ]);
  const days = await summary({ groupBy: "REQUEST_GROUP_OUTCOME" });
  expect(days.groups.map(({ group, requests }) => [group, requests])).toEqual([
    ["answered", "221"],
    ["broken", "1"],
    ["failed", "1"],
    ["left", "1"],
    ["rejected", "1"],
  ]);
  expect(
    days.sums.find(({ group, beginsAt }) => group === "answered" && beginsAt === "2026-04-03T00:00:00Z"),
  ).toMatchObject({ requests: "1", cost: "100" });
});

test("the first bucket has the calls since `from` alone, wherever in it that is", async () => {
  const from = new Date(noon + hour).toISOString();
  for (const bucket of ["BUCKET_DAY", "BUCKET_HOUR"]) {
    const { total, sums } = await summary({ bucket, filter: { from } });
    expect(total).toMatchObject({ requests: "21", cost: String(20 * 7 + 100) });
    expect(sums[0]).toMatchObject({ requests: "20" });
  }
  expect((await summary({ filter: { from: new Date(noon + hour + 10).toISOString() } })).total.requests).toBe("11");
});

test("a filter selects what is summed, and an account sees its own calls only", async () => {
  expect((await summary({ filter: { upstream: "west" } })).total).toMatchObject({ requests: "20", errors: "0" });
  expect((await summary({ filter: { outcomes: ["OUTCOME_FAILED"] } })).total).toMatchObject({ requests: "1" });
  const rejected = await summary({ filter: { outcomes: ["OUTCOME_REJECTED"] } });
  expect(rejected.total).toMatchObject({ requests: "1", errors: "0" });
  expect((await summary({ filter: { keyId: "key_other" } })).total).toMatchObject({ requests: "0" });
});

test("the operator sums all accounts, or one", async () => {
  const all = async (account?: string) => {
    const request = { summary: { filter: span, groupBy: "REQUEST_GROUP_ACCOUNT" }, ...(account ? { account } : {}) };
    const told = await askRpc(gateway, "OperatorService.SummarizeAllRequests", request, bearer(operatorKey));
    return totalsOf({ ...told, json: told.json.summary as JsonObject });
  };
  expect((await all()).groups.map(({ group, cost }) => [group, cost])).toEqual([
    [otherId, "1000"],
    [gateway.accountId, "841"],
  ]);
  expect((await all("Other")).total).toMatchObject({ requests: "1" });
  const refused = await askRpc(gateway, "OperatorService.SummarizeAllRequests", {}, bearer(gateway.apiKey));
  expect(refused.status).toBe(403);
});

test("too many buckets, or a time that ends before it begins, are refused", async () => {
  const refusal = async (filter: JsonObject, bucket: string) =>
    (await askRpc(gateway, "UsageService.SummarizeRequests", { filter, bucket }, bearer(gateway.apiKey))).reason;
  expect(await refusal({ from: "2020-01-01T00:00:00Z" }, "BUCKET_HOUR")).toBe("INVALID_VALUE");
  expect(await refusal({ from: span.to, to: span.from }, "BUCKET_DAY")).toBe("INVALID_VALUE");
});

test("where there are more calls than are read, the time is told from which on none is missing", async () => {
  const limits = { calls: 2000, groups: 10 };
  const { storage } = gateway;
  const id = newId("acc");
  await storage.accounts.insert({ id, name: "Many", created_at: noon, postpaid: 1 });
  await record(Array.from({ length: 2500 }, (_, n) => ({ at: noon + n, account_id: id, key_id: "key_many" })));
  const asked = { accountId: id, from: noon, to: noon + hour, bucketMs: hour, groupBy: undefined };
  const cut = await storage.requests.summarize(asked, limits);
  expect([cut.total.requests, cut.completeFrom]).toEqual([2000, noon + 500]);
  const whole = await storage.requests.summarize(asked, { ...limits, calls: 10_000 });
  expect([whole.total.requests, whole.completeFrom]).toEqual([2500, undefined]);
});
