/**
 * Whole numbers in the JSON of RPCs, amounts of money above all, are texts of digits: JavaScript reads "0x10" as 16 and " 5 " as 5, and takes
 * "1e3" for some fields. By REST, where amounts are decimals, the rule is the same.
 */
import { fromBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ErrorDetailSchema, Reason } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { hurriedClock, startTestGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({}, { admin: true, clock: hurriedClock() });
});

afterAll(() => gateway.close());

const service = "/modelgateway.v1.KeyService";

async function post(path: string, body: string, type = "application/json") {
  const headers = { authorization: `Bearer ${gateway.apiKey}`, "content-type": type };
  const response = await fetch(gateway.rootUrl + path, { method: "POST", headers, body });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** Returns the reason and the path of a refusal by Connect. */
function refusedBy({ body }: { readonly body: Record<string, unknown> }): readonly [Reason, string] | undefined {
  const [detail] = (body.details ?? []) as readonly { readonly value: string }[];
  if (!detail) return undefined;
  const { reason, param } = fromBinary(ErrorDetailSchema, Buffer.from(detail.value, "base64"));
  return [reason, param];
}

const odd = [
  "0x10",
  "0b11",
  "0o17",
  " 5 ",
  "\n7",
  "5\u00a0",
  "+1",
  "1e3",
  "１",
  "1_000",
  "1,5",
  "1.0",
  "",
  "-",
  "Infinity",
];
const padding = { short: "", long: `${" ".repeat(300_000)}` };

describe.each(Object.entries(padding))("a %s message", (_, blanks) => {
  test.each(odd)("with an amount of %j is refused, by its path", async (amount) => {
    const before = await gateway.storage.keys.list(gateway.accountId);
    const body = JSON.stringify({ name: "k", creditLimit: { amount } });
    const answer = await post(`${service}/CreateKey`, body + blanks);
    expect(answer.status).toBe(400);
    if (amount !== "") expect(refusedBy(answer)).toEqual([Reason.INVALID_VALUE, "credit_limit.amount"]);
    expect(await gateway.storage.keys.list(gateway.accountId)).toHaveLength(before.length);
  });

  test("with one in a list is refused by its place", async () => {
    const budgets = {
      budgets: [
        { amount: "5", period: "BUDGET_PERIOD_DAY" },
        { amount: "0x5", period: "BUDGET_PERIOD_DAY" },
      ],
    };
    const answer = await post(`${service}/CreateKey`, JSON.stringify({ name: "k", budgets }) + blanks);
    expect(refusedBy(answer)).toEqual([Reason.INVALID_VALUE, "budgets.budgets[1].amount"]);
  });

  test.each(["5000000", 5000000, 5e6, "005000000"])("with an amount of %j is read", async (amount) => {
    const body = JSON.stringify({ name: "k", creditLimit: { amount } });
    const answer = await post(`${service}/CreateKey`, body + blanks);
    expect(answer).toMatchObject({ status: 200, body: { key: { creditLimit: "5000000" } } });
  });

  test.each(["0x2", "1e1", " 3", "+3"])("with %j for a number of 32 bits is refused, too", async (pageSize) => {
    const answer = await post(`${service}/ListKeys`, JSON.stringify({ pageSize }) + blanks);
    expect(refusedBy(answer)?.[0]).toBe(Reason.INVALID_VALUE);
  });
});

test("an amount behind a byte order mark, which connect-node leaves out, is refused alike", async () => {
  const answer = await post(`${service}/CreateKey`, '\ufeff{"name":"k","creditLimit":{"amount":"0x10"}}');
  expect(refusedBy(answer)).toEqual([Reason.INVALID_VALUE, "credit_limit.amount"]);
  const plain = await post(`${service}/CreateKey`, '\ufeff{"name":"k","creditLimit":{"amount":"16"}}');
  expect(plain).toMatchObject({ status: 200, body: { key: { creditLimit: "16" } } });
});

test.each(odd.filter((text) => text !== "1.0" && text !== ""))(
  "an amount of %j is refused by REST",
  async (credit_limit) => {
    const answer = await post("/api/v1/user/admin/create-api-token", JSON.stringify({ name: "k", credit_limit }));
    expect(answer.status).toBe(400);
  },
);
