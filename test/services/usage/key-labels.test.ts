/** Tags and owners of keys in usage: told with each call, filtered by, grouped by, and as the keys have them now. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { issueKey } from "../../../src/services/keys/issue-key.ts";
import { pricedModels } from "../../support/dashboard/furnished.ts";
import { hurriedClock, startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { openAccount } from "../../support/payer.ts";

let gateway: TestGateway;
let [both, one, none]: string[] = [];
const operatorKey = "operator-key-that-sees-all-accounts";

beforeAll(async () => {
  gateway = await startTestGateway(
    { models: [...pricedModels], embeddedModels: false, operatorKey },
    { admin: true, clock: hurriedClock() },
  );
  both = await keyOf("both", { tags: '["team-a","prod"]', owner: "Ada" });
  one = await keyOf("one", { tags: '["team-a"]', owner: "Bo" });
  none = await keyOf("none", {});
  for (const [secret, calls] of [
    [both, 2],
    [one, 3],
    [none, 1],
  ] as const)
    for (let i = 0; i < calls; i++) await call(secret as string);
  // Of another account, with the same tag.
  const other = await openAccount(gateway);
  await gateway.storage.keys.update(other.accountId, other.keyId, { tags: '["team-a"]' });
  await call(other.apiKey);
});
afterAll(() => gateway.close());

async function keyOf(name: string, limits: object): Promise<string> {
  const init = { accountId: gateway.accountId, name, admin: false, now: 0, limits };
  return (await issueKey(gateway.storage.keys, init)).secret;
}

async function call(secret: string): Promise<void> {
  const answer = await fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "embedded-chat", messages: [{ role: "user", content: "say: yes" }] }),
  });
  expect(answer.status).toBe(200);
  await answer.text();
}

type Json = Record<string, never>;

async function rpc(name: string, body: object, apiKey = gateway.apiKey): Promise<Json> {
  const answer = await fetch(`${gateway.rootUrl}/modelgateway.v1.${name}`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as Json;
}

const groupsOf = ({ groups = [] }: { groups?: readonly { group?: string; requests?: string }[] }) =>
  Object.fromEntries(groups.map(({ group = "", requests = "0" }) => [group, Number(requests)]));
const summarize = (body: object) => rpc("UsageService/SummarizeRequests", body);

test("a call of a key with two tags counts for each, and once in the total", async () => {
  const summary = await summarize({ groupBy: "REQUEST_GROUP_TAG" });
  expect(groupsOf(summary)).toEqual({ "team-a": 5, prod: 2, "": 1 });
  expect(summary.total).toMatchObject({ requests: "6" });
  expect(groupsOf(await summarize({ groupBy: "REQUEST_GROUP_OWNER" }))).toEqual({ Ada: 2, Bo: 3, "": 1 });
});

test("a tag selects calls, in sums, lists and the table, and nothing of another account", async () => {
  const filter = { tag: "team-a" };
  expect((await summarize({ filter })).total).toMatchObject({ requests: "5" });
  expect(groupsOf(await summarize({ filter, groupBy: "REQUEST_GROUP_OWNER" }))).toEqual({ Ada: 2, Bo: 3 });
  const { requests } = (await rpc("UsageService/ListRequests", { filter })) as unknown as {
    requests: readonly { keyTags?: string[]; keyOwner?: string }[];
  };
  expect(requests).toHaveLength(5);
  expect(requests.at(-1)).toMatchObject({ keyTags: ["team-a", "prod"], keyOwner: "Ada" });
  const headers = { authorization: `Bearer ${gateway.apiKey}` };
  const csv = await (await fetch(`${gateway.rootUrl}/api/v1/usage/requests.csv?tag=prod`, { headers })).text();
  const lines = csv.trimEnd().split("\r\n");
  expect(lines).toHaveLength(3);
  expect(lines[1]).toMatch(/,team-a; prod,Ada$/);
  expect((await summarize({ filter: { tag: "nobody's" } })).total ?? {}).not.toHaveProperty("requests", "6");
  expect(await rpc("UsageService/ListRequests", { filter: { tag: "nobody's" } })).toEqual({});
});

test("a call tells the labels that its key has now", async () => {
  const { requests } = (await rpc("UsageService/ListRequests", {
    pageSize: 1,
    filter: { tag: "prod" },
  })) as unknown as {
    requests: readonly { id: string; keyId: string }[];
  };
  const { id = "", keyId = "" } = requests[0] ?? {};
  await gateway.storage.keys.update(gateway.accountId, keyId, { tags: '["prod","renamed"]', owner: null });
  const { request } = (await rpc("UsageService/GetRequest", { id })) as unknown as { request: object };
  expect(request).toMatchObject({ keyTags: ["prod", "renamed"] });
  expect(request).not.toHaveProperty("keyOwner");
  expect(groupsOf(await summarize({ groupBy: "REQUEST_GROUP_TAG" }))).toMatchObject({
    renamed: 2,
    prod: 2,
    "team-a": 3,
  });
});

test("an operator sums the tags of all accounts, and filters by one, of all or within an account", async () => {
  const all = (body: object) => rpc("OperatorService/SummarizeAllRequests", body, operatorKey);
  const { summary } = (await all({ summary: { groupBy: "REQUEST_GROUP_TAG" } })) as unknown as { summary: Json };
  expect(groupsOf(summary)).toMatchObject({ "team-a": 4 });
  const of = { account: gateway.accountId, filter: { tag: "team-a" } };
  const { requests } = (await rpc("OperatorService/ListAllRequests", of, operatorKey)) as unknown as {
    requests: object[];
  };
  expect(requests).toHaveLength(3);
  const ofAll = await rpc("OperatorService/ListAllRequests", { filter: of.filter }, operatorKey);
  expect(ofAll.requests).toHaveLength(4);
});
