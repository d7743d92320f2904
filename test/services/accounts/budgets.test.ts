/** Budgets of accounts: those of their own, those of the operator, and the zone in which they begin; and their proof. */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { firstIdAt, newId } from "../../../src/runtime/ids.ts";
import { quarterMs } from "../../../src/storage/money/budget-windows.ts";
import { type Bank, openBank } from "../../support/money/bank.ts";

let bank: Bank;

beforeEach(async () => {
  bank = await openBank();
  await bank.storage.accounts.insert({ id: "acc_1", name: "one", created_at: 1 });
  await bank.storage.entries.record({ id: "led_1", accountId: "acc_1", kind: 1, amount: 5000, note: null, now: 1 });
});
afterEach(() => bank.close());

interface Shown {
  readonly time_zone: string;
  readonly budgets: readonly JsonObject[];
}

const own = async (request: JsonObject) =>
  (await bank.ask("updateBudgets", request, { account: "acc_1" })).account as unknown as Shown;
const byOperator = async (request: JsonObject) =>
  (await bank.ask("updateAccount", { account: "one", ...request })).account as unknown as Shown;
const shown = async () => (await bank.ask("getAccount", {}, { account: "acc_1" })).account as unknown as Shown;
const month = (amount: string) => ({ amount, period: "month" });
/** A call that cost so much, so long ago. */
const charged = (cost: number, ago = 0) => {
  const created_at = bank.now() - ago;
  return bank.charge("acc_1", { id: newId("req", created_at), key_id: "key_1", cost, created_at });
};

describe("an account", () => {
  test("sets budgets and its zone, which are told with what is spent and when they end", async () => {
    await charged(30);
    const { time_zone, budgets } = await own({ budgets: [month("0.001")], time_zone: "asia/tokyo" });
    expect(time_zone).toBe("Asia/Tokyo");
    expect(budgets).toEqual([
      {
        ...{ id: expect.stringMatching(/^bud_/), amount: "0.001", period: "month", rolling: false, by_operator: false },
        ...{ spent: "0.00003", held: "0.00", remaining: "0.00097" },
        ...{ window_starts_at: "2025-12-31T15:00:00.000Z", window_ends_at: "2026-01-31T15:00:00.000Z" },
      },
    ]);
    await charged(40);
    expect((await shown()).budgets[0]).toMatchObject({ spent: "0.00007" });
  });

  test("leaves what it does not name, and keeps what the operator has set, as the operator keeps the account's", async () => {
    await byOperator({ budgets: [month("5")] });
    await own({ budgets: [{ amount: "1", period: "day" }] });
    const amounts = ({ budgets }: Shown) => budgets.map(({ amount, by_operator }) => [amount, by_operator]);
    expect(amounts(await shown())).toEqual([
      ["5.00", true],
      ["1.00", false],
    ]);
    expect(amounts(await byOperator({ time_zone: "Europe/Berlin" }))).toHaveLength(2);
    expect(amounts(await own({ budgets: [] }))).toEqual([["5.00", true]]);
    const renamed = await byOperator({ name: "uno" });
    expect([renamed.time_zone, amounts(renamed)]).toEqual(["Europe/Berlin", [["5.00", true]]]);
    const { budgets } = (await bank.ask("updateAccount", { account: "uno", budgets: [] })).account as unknown as Shown;
    expect(budgets).toEqual([]);
  });

  test("does not begin a window of the operator's budgets anew by another zone", async () => {
    await byOperator({ budgets: [{ amount: "1", period: "day" }], time_zone: "Asia/Tokyo" });
    const asked = { budgets: [month("2")], time_zone: "Pacific/Kiritimati" };
    const refused = await bank.refused("updateBudgets", asked, { account: "acc_1" });
    expect([refused.status, refused.message]).toEqual([409, expect.stringContaining("Ask the operator")]);
    expect(await shown()).toMatchObject({ time_zone: "Asia/Tokyo", budgets: [{ amount: "1.00" }] });
    // The zone that it has may be sent along; and a rolling budget goes by no zone.
    expect(await own({ ...asked, time_zone: "asia/tokyo" })).toMatchObject({ time_zone: "Asia/Tokyo" });
    await byOperator({ budgets: [{ amount: "1", period: "day", rolling: true }] });
    expect(await own(asked)).toMatchObject({ time_zone: "Pacific/Kiritimati" });
  });

  test.each(["Mars/Base", "+09:00", "UTC+9", "Asia/Tokyo; DROP"])(
    "refuses the time zone %s, and changes nothing",
    async (zone) => {
      const refused = await bank.refused(
        "updateBudgets",
        { budgets: [month("1")], time_zone: zone },
        { account: "acc_1" },
      );
      expect([refused.status, refused.param]).toEqual([400, "time_zone"]);
      expect(await shown()).toMatchObject({ time_zone: "UTC" });
      expect((await shown()).budgets).toEqual([]);
    },
  );

  test("whose zone is changed within a window has what was spent counted by when it was", async () => {
    // 23:30 UTC of the day before is half past eight of the same day in Tokyo.
    await charged(30, 3 * 3_600_000 + 34 * 60_000 + 5_000);
    await own({ budgets: [{ amount: "1", period: "day" }] });
    expect((await shown()).budgets[0]).toMatchObject({ spent: "0.00", window_starts_at: "2026-01-02T00:00:00.000Z" });
    await own({ time_zone: "Asia/Tokyo" });
    expect((await shown()).budgets[0]).toMatchObject({
      spent: "0.00003",
      window_starts_at: "2026-01-01T15:00:00.000Z",
    });
    await own({ time_zone: "" });
    expect((await shown()).budgets[0]).toMatchObject({ spent: "0.00" });
  });

  test("has a rolling window tell when the oldest spending leaves it", async () => {
    await charged(30, 3_600_000);
    const { budgets } = await own({ budgets: [{ amount: "1", period: "day", rolling: true }] });
    expect(budgets[0]).toMatchObject({ spent: "0.00003", window_ends_at: "2026-01-03T02:15:00.000Z" });
    bank.pass(24 * 3_600_000);
    expect((await shown()).budgets[0]).toMatchObject({ spent: "0.00" });
    expect((await shown()).budgets[0]).not.toHaveProperty("window_ends_at");
  });

  test("whose calls are forgotten counts what their hour cost when it gets its first budget", async () => {
    await charged(30, 40 * 60_000);
    await charged(40);
    await bank.storage.retention.forgetRequests(Date.UTC(2026, 0, 2, 3), firstIdAt("req", Date.UTC(2026, 0, 2, 3)));
    const { budgets } = await own({ budgets: [{ amount: "1", period: "day" }] });
    expect(budgets[0]).toMatchObject({ spent: "0.00007" });
    expect((await bank.storage.reconcile({ now: bank.now() })).findings).toEqual([]);
  });

  test("with more calls than are read has those of the hour that runs counted in their quarter", async () => {
    await charged(30);
    await bank.tamper("UPDATE usage_hours SET requests = 200000");
    // Its day ends at 03:30 UTC, within the hour.
    const { budgets } = await own({ budgets: [{ amount: "1", period: "day" }], time_zone: "America/St_Johns" });
    expect(budgets[0]).toMatchObject({ spent: "0.00003", window_ends_at: "2026-01-02T03:30:00.000Z" });
    await charged(40, 50 * 60_000);
    await own({ budgets: [] });
    expect((await own({ budgets: [{ amount: "1", period: "day" }] })).budgets[0]).toMatchObject({ spent: "0.00007" });
  });

  test("without budgets any more has no sums of them, and counts all that was spent meanwhile when it has one again", async () => {
    await own({ budgets: [month("1")] });
    await charged(30);
    await own({ budgets: [] });
    await charged(40);
    expect(await bank.database.query("SELECT * FROM spent_by_quarter")).toEqual([]);
    expect((await own({ budgets: [month("1")] })).budgets[0]).toMatchObject({ spent: "0.00007" });
  });
});

describe("the proof", () => {
  beforeEach(async () => {
    await own({ budgets: [month("1")] });
    await charged(30);
    await charged(40);
  });

  const proved = (isRepairing = false) => bank.storage.reconcile({ now: bank.now(), isRepairing });

  test.each([
    ["too much", "UPDATE spent_by_quarter SET spent = spent + 7"],
    ["too little", "UPDATE spent_by_quarter SET spent = 1"],
    ["nothing", "DELETE FROM spent_by_quarter"],
    [
      "an hour without calls",
      "INSERT INTO spent_by_quarter (subject, quarter_start, spent) VALUES ('acc_1', 1767225600000, 5)",
    ],
  ])("finds and repairs %s", async (_, sql) => {
    expect((await proved()).findings).toEqual([]);
    await bank.tamper(sql);
    const { findings, repaired } = await proved(true);
    expect(findings).toMatchObject([{ kind: "budget_spent", isRepairable: true }]);
    expect(repaired).toEqual(findings.map(({ what }) => what));
    expect((await proved()).findings).toEqual([]);
    expect((await shown()).budgets[0]).toMatchObject({ spent: "0.00007" });
  });

  test("needs no sums that no window reaches, which are forgotten", async () => {
    const { retention } = bank.storage;
    expect(await retention.forgetSpending(bank.now() - quarterMs)).toBe(0);
    bank.pass(71 * 86_400_000);
    await charged(5);
    const before = bank.now() - 70 * 86_400_000;
    // What is due of the earlier calls would else be added up at some moment in between.
    await bank.storage.recall("acc_1");
    while ((await retention.forgetSpending(before)) > 0);
    const left = "SELECT count(*) AS count FROM spent_by_quarter WHERE quarter_start < ?";
    expect(await bank.database.query(left, before)).toEqual([{ count: 0 }]);
    expect((await shown()).budgets[0]).toMatchObject({ spent: "0.000005" });
    expect((await proved()).findings).toEqual([]);
  });
});
