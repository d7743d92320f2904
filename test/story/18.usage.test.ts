/** What was used and spent: by call, by hour, as a table, and by the key itself. */
import type { JsonObject } from "@bufbuild/protobuf";
import { beforeAll, expect, test } from "vitest";
import { ask } from "../support/ask.ts";
import { askRpc, type SignedIn, signIn } from "../support/dashboard/session.ts";
import { now } from "../support/gateway.ts";
import { cost, paidModels } from "../support/upstreams/paid-models.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import { answerAsOpenAi } from "../support/vendors.ts";

let ada: SignedIn;
const due = 9 * cost.input + 2 * cost.output;

const { gateway } = scriptedStage(paidModels, { script: answerAsOpenAi });

beforeAll(async () => {
  ada = await signIn(gateway, now);
  const body = { model: "gpt", messages: [{ role: "user", content: "Hello" }] };
  for (let i = 0; i < 3; i++) await ask(gateway, "/v1/chat/completions", body);
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
