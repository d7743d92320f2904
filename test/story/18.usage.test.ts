/** What was used and spent: by call, by hour, as a table, and by the key itself. */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "../support/ask.ts";
import { askRpc, type SignedIn, signIn } from "../support/dashboard/session.ts";
import { now, startTestGateway, type TestGateway } from "../support/gateway.ts";
import { type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { cost, paidModels } from "../support/upstreams/paid-models.ts";
import { answerAsOpenAi } from "../support/vendors.ts";

let upstream: ScriptedUpstream;
let gateway: TestGateway;
let ada: SignedIn;
const due = 9 * cost.input + 2 * cost.output;

beforeAll(async () => {
  upstream = await startScriptedUpstream(answerAsOpenAi);
  gateway = await startTestGateway(paidModels(upstream.baseUrl));
  ada = await signIn(gateway, now);
  const body = { model: "gpt", messages: [{ role: "user", content: "Hello" }] };
  for (let i = 0; i < 3; i++) await ask(gateway, "/v1/chat/completions", body);
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const rpc = async (name: string, request: JsonObject = {}): Promise<{ requests: JsonObject[] }> =>
  (await askRpc(gateway, name, request, ada.headers)).json as { requests: JsonObject[] };

test("every call has a row, with what it was charged and why", async () => {
  const { requests } = await rpc("UsageService.ListRequests");
  expect(requests).toHaveLength(3);
  expect(requests[0]).toMatchObject({ model: "gpt", cost: String(due) });
});

test("the same comes as a table, for a spreadsheet", async () => {
  const { text } = await ask(gateway, "/api/v1/usage/requests.csv", undefined, {
    headers: { ...ada.headers, authorization: "" },
  });
  expect(text.trim().split("\n")).toHaveLength(4);
});

test("a key asks what it has spent, and what is left", async () => {
  const { status, json } = await ask(gateway, "/v1/key");
  expect(status).toBe(200);
  expect(JSON.stringify(json)).toContain(String((3 * due) / 1_000_000));
});

test("the books are right: balance, ledger and calls say the same", async () => {
  expect((await gateway.storage.reconcile()).findings).toEqual([]);
});
