/**
 * Whatever is told of usage is the exact sum of the calls that are kept: by hour and day, key and model, of any time; in summaries, on pages and
 * in the table of all. Each call is on one page once, while calls come and old ones are forgotten.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createRetention } from "../../../src/composition/retention.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { issueKey } from "../../../src/services/keys/issue-key.ts";
import type { CallRow, Capture } from "../../../src/storage/columns.ts";
import { askRpc, bearer } from "../../support/dashboard/session.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** The clocks of Europe change within the time of the calls, and those of Lord Howe by half an hour. */
const begin = Date.UTC(2026, 2, 26, 13, 30);
const end = begin + 12 * dayMs;
const calls = 3_000;

let gateway: TestGateway;
let rows: readonly CallRow[];

/** random returns whole numbers below `below`, the same in each run. */
let seed = 42;
function random(below: number): number {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
}
const oneOf = <T>(list: readonly T[]): T => list[random(list.length)] as T;

const keys: string[] = [];
const models = ["gpt", "claude", 'o\'brien,"x"'];
/** Sums of these are near to what a double counts exactly. */
const costs = [0, 1, 3, 999_999, 1_000_000, 123_456_789, 1_000_000_000_001];

function callAt(at: number, more: Partial<Capture> = {}): Capture {
  const outcome = oneOf([1, 1, 1, 1, 2, 3, 4, 6]);
  const cost = outcome === 1 || outcome === 3 ? oneOf(costs) : 0;
  return {
    ...{ id: newId("req", at), account_id: gateway.accountId, key_id: oneOf(keys), created_at: at, operation: "chat" },
    ...{
      model: oneOf(models),
      upstream: oneOf(["east", "west"]),
      outcome,
      input: random(9_000),
      cache_read: random(99),
    },
    ...{ cache_write: random(9), output: random(5_000), reasoning: random(50), characters: random(3), estimated: 0 },
    ...{ cost, duration_ms: random(9_000), first_byte_ms: null },
    ...more,
  } as Capture;
}

async function record(made: readonly Capture[]): Promise<void> {
  const books = gateway.storage.openBooks(false)({
    node: newId("nod"),
    clock: () => end,
    onError: (error) => expect(error).toBeUndefined(),
    recall: () => ({ records: [], leases: [] }),
  });
  const captures = made.map((call) => ({ call, most: call.cost }));
  await books.decide(() => ({ records: [], leases: [], releases: [], holds: [], captures }));
  await books.close();
}

beforeAll(async () => {
  gateway = await startTestGateway({}, { admin: true, clock: () => end });
  const other = newId("acc");
  await gateway.storage.accounts.insert({ id: other, name: "Other", created_at: begin, postpaid: 1 });
  const named = { name: "k", admin: false, now: begin };
  const make = async (accountId: string) => (await issueKey(gateway.storage.keys, { ...named, accountId })).key.id;
  for (let i = 0; i < 3; i++) keys.push(await make(gateway.accountId));
  const edges = [0, 1, hourMs - 1, hourMs].map((ms) => Date.UTC(2026, 2, 29) + ms);
  const times = [...edges, ...Array.from({ length: calls - edges.length }, () => begin + random(end - begin))];
  await record(times.map((at) => callAt(at)));
  const otherKey = await make(other);
  await record(times.slice(0, 100).map((at) => callAt(at, { account_id: other, key_id: otherKey })));
  rows = (await gateway.database.query(
    `SELECT * FROM requests WHERE account_id = '${gateway.accountId}'`,
  )) as unknown as CallRow[];
  expect(rows).toHaveLength(calls);
});

afterAll(() => gateway.close());

async function ask(rpc: string, request: JsonObject): Promise<JsonObject> {
  const { status, json } = await askRpc(gateway, `UsageService.${rpc}`, request, bearer(gateway.apiKey));
  expect(status, JSON.stringify(request)).toBe(200);
  return json;
}

/** Figures are what is told of calls, as decimals in whole millionths and counts. */
interface Figures {
  requests: bigint;
  cost: bigint;
  input: bigint;
  output: bigint;
  cacheRead: bigint;
}

const nothing = (): Figures => ({ requests: 0n, cost: 0n, input: 0n, output: 0n, cacheRead: 0n });

function add(to: Figures, { cost, input, output, cache_read }: CallRow): void {
  to.requests++;
  to.cost += BigInt(cost);
  to.input += BigInt(input);
  to.output += BigInt(output);
  to.cacheRead += BigInt(cache_read);
}

/** figuresBy sums calls by what `nameOf` returns. */
function figuresBy(of: readonly CallRow[], nameOf: (row: CallRow) => string): Record<string, Figures> {
  const sums: Record<string, Figures> = {};
  for (const row of of) {
    const name = nameOf(row);
    sums[name] ??= nothing();
    add(sums[name], row);
  }
  return sums;
}

interface Told {
  readonly beginsAt?: string;
  readonly group?: string;
  readonly keyId?: string;
  readonly model?: string;
  readonly requests: string;
  readonly cost?: string;
  readonly usage?: { readonly inputTokens?: string; readonly outputTokens?: string; readonly cacheReadTokens?: string };
}

interface Sums {
  readonly sums?: readonly Told[];
}

function figuresOf({ requests, cost = "0", usage = {} }: Told): Figures {
  const { inputTokens = "0", outputTokens = "0", cacheReadTokens = "0" } = usage;
  const [input, output, cacheRead] = [BigInt(inputTokens), BigInt(outputTokens), BigInt(cacheReadTokens)];
  return { requests: BigInt(requests), cost: BigInt(cost), input, output, cacheRead };
}

function toldBy(sums: readonly Told[], nameOf: (sum: Told) => string): Record<string, Figures> {
  const told = Object.fromEntries(sums.map((sum) => [nameOf(sum), figuresOf(sum)]));
  expect(Object.keys(told)).toHaveLength(sums.length);
  return told;
}

const bucketOf = { BUCKET_HOUR: hourMs, BUCKET_DAY: dayMs } as const;
const iso = (ms: number) => new Date(ms).toISOString();

test("the sums of hours and days, by key and model, of any time, are those of the calls", async () => {
  for (let round = 0; round < 120; round++) {
    const bucket = oneOf(["BUCKET_HOUR", "BUCKET_DAY"] as const);
    const ms = bucketOf[bucket];
    const from = begin - dayMs + random(13 * dayMs);
    // Sums are kept by the hour: a time that ends within one has all of it.
    const to = from + 1 + random(14 * dayMs);
    const [byKey, byModel] = [random(2) === 1, random(2) === 1];
    const [keyId, model] = [random(3) === 0 ? oneOf(keys) : undefined, random(3) === 0 ? oneOf(models) : undefined];
    const chosen = { ...(keyId && { keyId }), ...(model && { model }) };
    const request = { bucket, from: iso(from), to: iso(to), byKey, byModel, ...chosen };
    const { sums = [] } = (await ask("ListUsage", request)) as unknown as Sums;
    const begins = Math.floor(from / ms) * ms;
    const hourOf = ({ created_at }: CallRow) => created_at - (created_at % hourMs);
    const within = rows.filter(
      (row) =>
        hourOf(row) >= begins &&
        hourOf(row) < to &&
        row.key_id === (keyId ?? row.key_id) &&
        row.model === (model ?? row.model),
    );
    const nameOf = (at: number, key = "", of = "") => JSON.stringify([at, byKey ? key : "", byModel ? of : ""]);
    const kept = figuresBy(within, (row) => nameOf(row.created_at - (row.created_at % ms), row.key_id, row.model));
    expect(
      toldBy(sums, (sum) => nameOf(Date.parse(String(sum.beginsAt)), sum.keyId, sum.model)),
      JSON.stringify(request),
    ).toEqual(kept);
  }
});

const groups = {
  REQUEST_GROUP_UNSPECIFIED: () => "",
  REQUEST_GROUP_MODEL: (row: CallRow) => row.model,
  REQUEST_GROUP_KEY: (row: CallRow) => row.key_id,
  REQUEST_GROUP_UPSTREAM: (row: CallRow) => row.upstream,
  REQUEST_GROUP_OUTCOME: ({ outcome }: CallRow) =>
    ["", "answered", "failed", "broken", "left", "lost", "rejected"][outcome] ?? "",
} as const;

test("the summaries of calls, in any group and of any time, are those of the calls", async () => {
  for (let round = 0; round < 60; round++) {
    const bucket = oneOf(["BUCKET_HOUR", "BUCKET_DAY"] as const);
    const groupBy = oneOf(Object.keys(groups) as (keyof typeof groups)[]);
    const from = begin - dayMs + random(13 * dayMs);
    const to = from + 1 + random(14 * dayMs);
    const upstream = random(3) === 0 ? "west" : undefined;
    const filter = { from: iso(from), to: iso(to), ...(upstream && { upstream }) };
    type Summary = { readonly total: Told; readonly groups?: Told[]; readonly sums?: Told[] };
    const {
      total,
      groups: told = [],
      sums = [],
    } = (await ask("SummarizeRequests", { bucket, groupBy, filter })) as unknown as Summary;
    const within = rows.filter(({ created_at: at, upstream: of }) => at >= from && at < to && of === (upstream ?? of));
    const what = JSON.stringify({ bucket, groupBy, filter });
    expect(figuresOf(total), what).toEqual(figuresBy(within, () => "")[""] ?? nothing());
    if (groupBy !== "REQUEST_GROUP_UNSPECIFIED")
      expect(
        toldBy(told, (one) => one.group ?? ""),
        what,
      ).toEqual(figuresBy(within, groups[groupBy]));
    const inAll = sums.reduce((sum, one) => sum + BigInt(one.cost ?? "0"), 0n);
    expect(inAll, what).toBe(figuresOf(total).cost);
  }
});

test("the table of all calls has each once, to the millionth", async () => {
  const url = `${gateway.rootUrl}/api/v1/usage/requests.csv`;
  const text = await (await fetch(url, { headers: { authorization: `Bearer ${gateway.apiKey}` } })).text();
  const [head = "", ...lines] = text.trimEnd().split("\r\n");
  const at = (name: string) => head.split(",").indexOf(name);
  expect(lines).toHaveLength(calls);
  const cells = lines.map((line) => [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, cell = ""]) => cell));
  const told = new Map(cells.map((line) => [line[at("id")], line[at("cost")]]));
  expect(told.size).toBe(calls);
  for (const { id, cost } of rows) {
    const [units = "0", millionths = ""] = String(told.get(id)).split(".");
    expect(BigInt(units) * 1_000_000n + BigInt(millionths.padEnd(6, "0") || "0")).toBe(BigInt(cost));
  }
});

test("each call is on one page once, of any size, while calls come and old ones are forgotten", async () => {
  const settings = () => ({ retention: { requestsMs: 9 * dayMs, auditMs: undefined } });
  const store = gateway.storage.retention;
  const onError = (error: unknown) => expect.fail(String(error));
  const forgetting = createRetention({ store, settings, clock: () => end, onError });
  const costOfAll = async () => {
    const { sums = [] } = (await ask("ListUsage", {
      from: iso(begin - dayMs),
      to: iso(end + dayMs),
    })) as unknown as Sums;
    return sums.reduce((sum, { cost = "0" }) => sum + BigInt(cost), 0n);
  };
  const before = await costOfAll();
  const seen: string[] = [];
  let token: string | undefined;
  let page = 0;
  do {
    const request = { pageSize: 1 + random(400), ...(token && { pageToken: token }) };
    const answer = (await ask("ListRequests", request)) as {
      readonly requests?: { id: string }[];
      nextPageToken?: string;
    };
    seen.push(...(answer.requests ?? []).map(({ id }) => id));
    token = answer.nextPageToken;
    page++;
    if (page === 2) await record([callAt(end - 1), callAt(end - 2)].map((call) => ({ ...call, cost: 0 })));
    if (page === 3) await forgetting.run();
  } while (token !== undefined);
  await forgetting.close();
  expect(new Set(seen).size).toBe(seen.length);
  const kept = rows.filter(({ created_at }) => created_at >= end - 9 * dayMs);
  const missing = new Set(kept.map(({ id }) => id)).difference(new Set(seen));
  expect([...missing]).toEqual([]);
  const left = await gateway.database.query(`SELECT id FROM requests WHERE account_id = '${gateway.accountId}'`);
  expect(left.length).toBeLessThan(calls);
  // What is forgotten stays in the sums.
  expect(await costOfAll()).toBe(before);
  expect((await gateway.storage.reconcile({ now: end, isFull: true })).findings).toEqual([]);
});
