/**
 * A list that is selected or continued by an empty text is the whole list from its beginning, in every service and by every path; and by a
 * text that no database keeps it is refused, or has nothing.
 */
import { type DescMessage, type DescMethod, getOption, hasOption, ScalarType } from "@bufbuild/protobuf";
import { field as boundsOf } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AccountService } from "../../gen/modelgateway/v1/accounts_pb.ts";
import { KeyService } from "../../gen/modelgateway/v1/keys_pb.ts";
import { OperatorService } from "../../gen/modelgateway/v1/operator_pb.ts";
import { UsageService } from "../../gen/modelgateway/v1/usage_pb.ts";
import type { JsonObject } from "../../src/wire/json.ts";
import { askRpc, bearer } from "../support/dashboard/session.ts";
import { eventually } from "../support/eventually.ts";
import { hurriedClock, startTestGateway, type TestGateway } from "../support/gateway.ts";

const operatorKey = "operator-key-of-empty-filters";
let gateway: TestGateway;
let responseId = "";

async function send(path: string, body: JsonObject): Promise<JsonObject> {
  const response = await fetch(gateway.baseUrl + path, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return (await response.json()) as JsonObject;
}

async function get(path: string): Promise<string> {
  const response = await fetch(gateway.rootUrl + path, { headers: { authorization: `Bearer ${gateway.apiKey}` } });
  expect(response.status).toBe(200);
  return response.text();
}

/** ask sends an RPC with the credential that may call it. When the key was last used changes with each call, and is left out. */
async function ask(method: DescMethod, request: JsonObject): Promise<JsonObject> {
  const credential = bearer(method.parent === OperatorService ? operatorKey : gateway.apiKey);
  const { status, json } = await askRpc(gateway, `${method.parent.name}.${method.name}`, request, credential);
  expect(status, JSON.stringify(json)).toBe(200);
  return JSON.parse(JSON.stringify(json), (key, value) => (key === "lastUsedAt" ? undefined : value));
}

beforeAll(async () => {
  gateway = await startTestGateway({ operatorKey }, { admin: true, clock: hurriedClock() });
  responseId = (await send("/responses", { model: "embedded-chat", input: "say: yes" })).id as string;
  await send("/responses", { model: "nobody", input: "x" });
  await ask(OperatorService.method.createRedeemCodes, { amount: "1000000", count: 2 });
  const tagged = { name: "tagged", tags: { tags: ["a"] }, owner: { name: "Ada" } };
  await ask(KeyService.method.createKey, tagged);
  await eventually(async () => expect((await ask(UsageService.method.listRefused, {})).refused).toHaveLength(1));
});

afterAll(() => gateway.close());

/** The paths of the texts in a request that need not be there, as the JSON of an RPC names them. */
function textsIn(desc: DescMessage): string[][] {
  return desc.fields.flatMap((field) => {
    if (field.fieldKind === "message" && field.message.typeName.startsWith("modelgateway."))
      return textsIn(field.message).map((path) => [field.jsonName, ...path]);
    const isText = field.fieldKind === "scalar" && field.scalar === ScalarType.STRING;
    const isRequired = hasOption(field, boundsOf) && getOption(field, boundsOf).required;
    return isText && !isRequired ? [[field.jsonName]] : [];
  });
}

function textAt([name = "", ...rest]: readonly string[], text: string): JsonObject {
  return { [name]: rest.length === 0 ? text : textAt(rest, text) };
}

const lists = [AccountService, KeyService, OperatorService, UsageService]
  .flatMap<DescMethod>(({ methods }) => methods)
  .filter(({ name, methodKind }) => methodKind === "unary" && /^(List|Summarize|Measure)/.test(name))
  .flatMap((method) => textsIn(method.input).map((path) => ({ method, path })));

function accountFor({ name }: DescMethod): JsonObject {
  return ["ListEntries", "ListAccountKeys"].includes(name) ? { account: gateway.accountId } : {};
}

test.each(lists)("$method.name with an empty $path", async ({ method, path }) => {
  const account = accountFor(method);
  const all = await ask(method, account);
  expect(await ask(method, { ...account, ...textAt(path, "") })).toEqual(all);
});

test.each(lists)("$method.name with a NUL in $path", async ({ method, path }) => {
  const request = { ...accountFor(method), ...textAt(path, "usr_a\0") };
  const credential = bearer(method.parent === OperatorService ? operatorKey : gateway.apiKey);
  const { status } = await askRpc(gateway, `${method.parent.name}.${method.name}`, request, credential);
  expect([200, 400, 404]).toContain(status);
});

test("a response that goes on with one whose id has a NUL", async () => {
  const request = { model: "embedded-chat", input: "go on", previous_response_id: "resp_\0" };
  expect(await send("/responses", request)).toMatchObject({ error: { type: "invalid_request_error" } });
});

test("the table of calls, with all of its filters empty", async () => {
  const all = await get("/api/v1/usage/requests.csv");
  expect(all.trimEnd().split("\r\n")).toHaveLength(2);
  expect(await get("/api/v1/usage/requests.csv?key_id=&model=&upstream=&tag=&from=&to=")).toBe(all);
});

test.each([
  ["/v1/models", "?after_id=&before_id=&limit="],
  ["/v1/responses/ID/input_items", "?after=&before=&limit="],
])("%s with %s", async (path, query) => {
  const named = path.replace("ID", responseId);
  expect(await get(named + query)).toBe(await get(named));
});

test("a form asks for keys by nothing, and by a tag and an owner with blanks around them, as they were given", async () => {
  const namesBy = async (form: string) => {
    const response = await fetch(`${gateway.rootUrl}/api/v1/user/admin/get-api-tokens`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/x-www-form-urlencoded" },
      body: form,
    });
    const { data } = (await response.json()) as { data: readonly { name: string }[] };
    return data.map(({ name }) => name);
  };
  expect(await namesBy("page_token=&page_size=&tag=&owner=")).toEqual(["test", "tagged"]);
  expect(await namesBy("tag=+a+&owner=+Ada")).toEqual(["tagged"]);
});
