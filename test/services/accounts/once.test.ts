/** Whatever an RPC of accounts or of the operator creates or records, it does once under an Idempotency-Key. */
import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test } from "vitest";
import { AccountService } from "../../../gen/modelgateway/v1/accounts_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { Reason } from "../../../src/call/refusals.ts";
import { type Bank, openBank } from "../../support/money/bank.ts";

let bank: Bank;
let account: string;
let code: string;

beforeEach(async () => {
  bank = await openBank();
  account = ((await bank.ask("createAccount", { name: "acme" })) as { account: { id: string } }).account.id;
  code = ((await bank.ask("createRedeemCodes", { amount: "3", note: "known" })) as { codes: string[] }).codes[0] ?? "";
});
afterEach(() => bank.close());

interface Sample {
  /** Returns a request, and another one. */
  readonly requests: () => readonly [JsonObject, JsonObject];
  /** Members that are told once. */
  readonly secret?: readonly string[];
}

const samples: Readonly<Record<string, Sample>> = {
  createAccount: { requests: () => [{ name: "new" }, { name: "other" }] },
  recordEntry: {
    requests: () => [
      { account, kind: "recharge", amount: "5" },
      { account, kind: "recharge", amount: "6" },
    ],
  },
  createRedeemCodes: { requests: () => [{ amount: "5", count: 3 }, { amount: "5" }], secret: ["codes"] },
  createLink: { requests: () => [{}, { account }], secret: ["url", "expires_at"] },
  redeemCode: { requests: () => [{ code }, { code: "other" }] },
};

/** Counts what there is. */
async function counted(): Promise<JsonObject> {
  const { accounts } = (await bank.ask("listAccounts")) as { accounts: JsonObject[] };
  const { codes } = (await bank.ask("listRedeemCodes")) as { codes: JsonObject[] };
  const { entries } = (await bank.ask("listLedger", {}, { account })) as { entries?: JsonObject[] };
  const links = (await bank.database.query("SELECT id FROM links")).length;
  const { balance } = (await bank.ask("getAccount", {}, { account })).account as JsonObject;
  return {
    accounts: accounts.length,
    codes: codes.length,
    entries: entries?.length ?? 0,
    links,
    balance: balance ?? "",
  };
}

test.each(Object.entries(samples))("%s", async (name, { requests, secret = [] }) => {
  const [request, other] = requests();
  const as = { account, idempotencyKey: "once" };
  const before = await counted();
  const first = await bank.ask(name, request, as);
  const after = await counted();
  expect(after).not.toEqual(before);
  const openly = (answer: JsonObject) => Object.entries(answer).filter(([key]) => !secret.includes(key));
  for (const member of secret) expect(first[member]?.toString()).toBeTruthy();
  const again = await bank.ask(name, request, as);
  expect(openly(again)).toEqual(openly(first));
  for (const member of secret) expect(again[member]?.toString() ?? "").toBe("");
  expect(await bank.refused(name, other, as)).toMatchObject({ reason: Reason.IDEMPOTENCY_CONFLICT });
  expect(await counted()).toEqual(after);
});

test("a repetition succeeds where the same request would be refused by now", async () => {
  const userId = "usr_1";
  await bank.storage.users.insert({
    ...{ id: userId, account_id: account, email: "ann@example.com", password_hash: "x", created_at: 1 },
  });
  const requests: readonly (readonly [string, JsonObject, string])[] = [
    ["createRedeemCodes", { amount: "5", expires_at: new Date(bank.now() + 60_000).toISOString() }, "batch_id"],
    ["createLink", { user_id: userId }, "link_id"],
    ["createLink", { account: "acme" }, "link_id"],
    ["recordEntry", { account: "acme", kind: "recharge", amount: "5" }, "entry"],
    ["recordEntry", { account: "acme", kind: "refund", amount: "5" }, "entry"],
  ];
  const keyOf = (n: number) => ({ idempotencyKey: `key ${n}` });
  const made: unknown[] = [];
  for (const [n, [name, request, id]] of requests.entries()) made.push((await bank.ask(name, request, keyOf(n)))[id]);
  bank.pass(60_000);
  await bank.storage.users.remove(userId);
  await bank.ask("updateAccount", { account: "acme", name: "acme & sons" });
  for (const [n, [name, request, id]] of requests.entries()) {
    expect((await bank.ask(name, request, keyOf(n)))[id]).toEqual(made[n]);
    expect(await bank.refused(name, request)).toMatchObject({ message: expect.stringMatching(/./) });
  }
});

test("are all that create, record or claim", () => {
  const methods: readonly DescMethod[] = [...AccountService.methods, ...OperatorService.methods];
  const making = methods.filter(({ name }) => /^(?:Create|Record|Redeem|Rotate)/.test(name));
  expect(making.map(({ localName }) => localName).sort()).toEqual(Object.keys(samples).sort());
});
