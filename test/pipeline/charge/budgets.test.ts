/** Budgets as callers meet them: 402 once one is spent, which says which and until when, and answers again when its window turns. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { at, openStage, type Stage, served } from "../../support/upstreams/two-upstreams.ts";

let stage: Stage;
let admin: string;

beforeEach(async () => {
  stage = await openStage([served([at("first")])], {}, { admin: true, postpaid: false });
  admin = stage.gateway.apiKey;
});
afterEach(() => stage.close());

const day = 86_400_000;
/** Nine tokens of input and three of output. */
const cost = 15;
const small = { max_tokens: 3 };

async function manage(name: string, body: object): Promise<{ key: Record<string, unknown> & { id: string } }> {
  const response = await fetch(`${stage.gateway.rootUrl}/api/v1/user/admin/${name}`, {
    method: "POST",
    headers: { authorization: `Bearer ${admin}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { message?: string; error?: { message: string }; data?: never };
  if (!answer.data) throw new Error(answer.error?.message ?? answer.message);
  return { key: answer.data };
}

async function keyWith(...budgets: readonly object[]): Promise<{ id: string; secret: string }> {
  const { key } = await manage("create-api-token", { name: "bounded", budgets });
  return { id: key.id, secret: key.secret as string };
}

const asked = (secret: string, body: object = small, path?: string) =>
  stage.ask(body, { authorization: `Bearer ${secret}` }, path);

/** Calls until one is refused, and returns that. */
async function spend(secret: string): Promise<Response> {
  for (;;) {
    const response = await asked(secret);
    if (response.status !== 200) return response;
    await response.arrayBuffer();
  }
}

const errorOf = async (response: Response) =>
  ((await response.json()) as { error: { message: string; code: string; type: string } }).error;

describe("a key's budget", () => {
  test("refuses with 402 once it is spent, says until when, and answers again when the month has turned", async () => {
    const { secret } = await keyWith({ amount: "0.0005", period: "month" });
    const refused = await spend(secret);
    expect(refused.status).toBe(402);
    expect(refused.headers.get("x-gateway-budget")).toMatch(
      /^key-month;limit="0\.0005";remaining="0\.000\d+";reset=2592000$/,
    );
    expect(refused.headers.get("x-should-retry")).toBe("false");
    const { message, code, type } = await errorOf(refused);
    expect([code, type]).toEqual(["budget_exceeded", "insufficient_quota"]);
    expect(message).toMatch(
      /^This call needs at least 0\.000\d+ JPY and 0\.000\d+ JPY is left of the API key's budget of 0\.0005 JPY for this month until 2026-02-01T00:00:00Z\./,
    );
    stage.pass(30 * day);
    expect((await asked(secret)).status).toBe(200);
  });

  test("is told on every answer, less what the call cost", async () => {
    const { secret } = await keyWith({ amount: "1", period: "day" }, { amount: "0.5", period: "week", rolling: true });
    const response = await asked(secret);
    expect(response.headers.get("x-gateway-budget")).toBe('key-rolling-week;limit="0.50";remaining="0.499985"');
    expect((await asked(secret)).headers.get("x-gateway-budget")).toMatch(
      /^key-rolling-week;limit="0\.50";remaining="0\.49997";reset=\d+$/,
    );
    // A key without one is told of none, also where another of its account has one.
    expect((await stage.ask(small)).headers.get("x-gateway-budget")).toBeNull();
  });

  test("bounds the output of a call that sets no bound by what is left", async () => {
    const { secret } = await keyWith({ amount: "0.001", period: "day" });
    await (await asked(secret, {})).arrayBuffer();
    const { max_tokens, max_completion_tokens: bound = max_tokens } = JSON.parse(
      stage.first.received.at(-1)?.body.toString() ?? "{}",
    );
    expect(bound).toBeGreaterThan(0);
    expect(bound * 2).toBeLessThan(1000);
  });

  test("that is lowered below what is spent is kept, refuses calls, and is told", async () => {
    const { id, secret } = await keyWith({ amount: "1", period: "month" });
    for (let i = 0; i < 3; i++) await (await asked(secret)).arrayBuffer();
    const { key } = await manage("update-api-token", { id, budgets: [{ amount: "0.00002", period: "month" }] });
    expect(key.budgets).toEqual([
      expect.objectContaining({ amount: "0.00002", spent: "0.000045", remaining: "0.00", period: "month" }),
    ]);
    expect((await asked(secret)).status).toBe(402);
    await manage("update-api-token", { id, budgets: [] });
    expect((await asked(secret)).status).toBe(200);
  });

  test("counts what was spent before it was set, by the hours of a key that had none", async () => {
    const { id, secret } = await keyWith();
    for (let i = 0; i < 3; i++) await (await asked(secret)).arrayBuffer();
    const { key } = await manage("update-api-token", { id, budgets: [{ amount: "1", period: "month" }] });
    expect(key.budgets).toEqual([expect.objectContaining({ spent: "0.000045", held: "0.00" })]);
    await (await asked(secret)).arrayBuffer();
    const { key: later } = await manage("update-api-token", { id });
    expect(later.budgets).toEqual([expect.objectContaining({ spent: "0.00006" })]);
  });

  test("is never exceeded by calls at once", async () => {
    const { id, secret } = await keyWith({ amount: "0.001", period: "day" });
    const answers = await Promise.all(Array.from({ length: 60 }, () => asked(secret)));
    for (const answer of answers) await answer.arrayBuffer();
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 402]));
    const answered = answers.filter(({ status }) => status === 200).length;
    const { key } = await manage("update-api-token", { id });
    const spent = `0.${String(answered * cost).padStart(6, "0")}`;
    expect(key.budgets).toEqual([expect.objectContaining({ spent: expect.stringMatching(spent.replace(/0+$/, "")) })]);
    expect(answered * cost).toBeLessThanOrEqual(1000);
  });

  test("refuses a stream as it refuses a call", async () => {
    const { secret } = await keyWith({ amount: "0.00001", period: "day" });
    expect((await asked(secret, { ...small, stream: true })).status).toBe(402);
    expect(stage.first.received).toEqual([]);
  });
});

describe("bad input", () => {
  const create = (budgets: unknown) => manage("create-api-token", { name: "k", budgets });

  test.each([
    ["an amount of 0", [{ amount: "0", period: "day" }], /amount/],
    ["a negative amount", [{ amount: "-1", period: "day" }], /amount/],
    ["a seventh decimal place", [{ amount: "0.0000001", period: "day" }], /amount/],
    ["no amount", [{ period: "day" }], /amount/],
    ["no period", [{ amount: "1" }], /period/],
    ["a period that there is not", [{ amount: "1", period: "year" }], /period/],
    ["an unknown member", [{ amount: "1", period: "day", resets: 1 }], /resets/],
    ["eleven at once", Array(11).fill({ amount: "1", period: "day" }), /budgets/],
    ["no list", { amount: "1", period: "day" }, /budgets/],
  ])("refuses %s, and makes nothing", async (_, budgets, words) => {
    await expect(create(budgets)).rejects.toThrow(words);
  });

  test("takes ten at once, of which each holds, and keeps the ids of those that are sent back", async () => {
    const ten = Array.from({ length: 10 }, (_, i) => ({ amount: `${i + 1}`, period: "day", rolling: i % 2 === 1 }));
    const { key } = await create(ten);
    const made = key.budgets as { id: string; amount: string; period: string; rolling: boolean }[];
    expect(made.map(({ amount }) => amount)).toEqual(ten.map(({ amount }) => `${amount}.00`));
    const again = made.map(({ id, amount, period, rolling }) => ({ id, amount, period, rolling })).slice(2, 5);
    const { key: kept } = await manage("update-api-token", { id: key.id, budgets: again });
    expect((kept.budgets as { id: string }[]).map(({ id }) => id)).toEqual(again.map(({ id }) => id));
  });
});
