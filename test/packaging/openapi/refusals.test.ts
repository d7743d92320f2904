/**
 * Refusals are what the document says of them: the status is told at the operation, the body is valid by the family's schema, and
 * reason and headers are told at the status.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parametersOf, requestsOf } from "../../../packaging/openapi/examples/examples.ts";
import { Reason, reasonWord } from "../../../src/call/refusals.ts";
import {
  callOperation,
  document,
  faultsOf,
  type OperationCall,
  operationCalled,
  operationsIn,
  responseOf,
} from "../../support/clients/openapi.ts";
import { hurriedClock, startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { codesIn } from "../../support/pages.ts";

let gateway: TestGateway;
/** The key of its account has no credit, and no privilege. */
let poor: TestGateway;

beforeAll(async () => {
  const clock = hurriedClock();
  gateway = await startTestGateway({}, { admin: true, clock });
  poor = await startTestGateway({}, { postpaid: false, recharge: 0, clock });
});

afterAll(async () => {
  await gateway?.close("running");
  await poor?.close();
});

const operations = operationsIn(document).filter(({ tags }) => tags[0] !== "Gateway");
const anthropic = { "anthropic-version": "2023-06-01" };

/** Calls an operation, and expects a refusal with this status and reason, as the document has it. */
async function expectRefused(
  at: TestGateway,
  id: string,
  call: OperationCall,
  status: number,
  reason: Reason,
): Promise<void> {
  const operation = operationCalled(id);
  const response = await callOperation(at, operation, { parameters: parametersOf(id), ...call });
  const text = await response.text();
  expect([response.status, text.length > 0], text).toEqual([status, true]);
  const told = operation.responses[status];
  expect(told, `${id} does not tell of ${status}`).toBeDefined();
  const { description = "", headers = {}, content } = responseOf(operation, status) ?? {};
  expect(codesIn(description)).toContain(reasonWord(reason));
  expect(faultsOf(content?.["application/json"]?.schema ?? {}, JSON.parse(text))).toEqual([]);
  const own = [...response.headers.keys()].filter((name) =>
    /^(x-should-retry|retry-after|www-authenticate|accept-encoding)$/.test(name),
  );
  expect(own.filter((name) => !headers[name])).toEqual([]);
}

const body = (id: string) => Object.values(requestsOf(id))[0]?.value ?? {};
const withBody = operations.filter(({ requestBody }) => requestBody).map(({ operationId }) => operationId);
const all = operations.map(({ operationId }) => operationId);

describe("without a key", () => {
  test.each(all)("%s", async (id) => {
    const call = { headers: { authorization: "" }, ...(withBody.includes(id) ? { body: body(id) } : {}) };
    await expectRefused(gateway, id, call, 401, Reason.INVALID_API_KEY);
  });
});

describe("with a body that is no JSON", () => {
  test.each(withBody)("%s", async (id) => {
    const operation = operationCalled(id);
    const response = await fetch(gateway.rootUrl + operation.path, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
      body: "{",
    });
    const { schema = {} } = responseOf(operation, 400)?.content?.["application/json"] ?? {};
    expect([response.status, faultsOf(schema, await response.json())]).toEqual([400, []]);
  });
});

describe("with a coding that is not read", () => {
  test.each(withBody)("%s", async (id) => {
    const call = { body: body(id), headers: { "content-encoding": "compress" } };
    await expectRefused(gateway, id, call, 415, Reason.UNSUPPORTED_MEDIA_TYPE);
  });
});

const asked = operations.filter(({ responses }) => responses["502"]).map(({ operationId }) => operationId);

describe("with a model that is not there", () => {
  test.each(asked)("%s", async (id) => {
    await expectRefused(gateway, id, { body: { ...body(id), model: "nobody" } }, 404, Reason.MODEL_NOT_FOUND);
  });
});

const keyed = operations
  .filter(({ responses }) => responses["403"] && responses["401"])
  .filter(({ security }) => security.some(({ bearer }) => bearer?.includes("administrator")));

describe("without the privilege", () => {
  test.each(keyed.map(({ operationId }) => operationId))("%s", async (id) => {
    const call = withBody.includes(id) ? { body: body(id) } : {};
    await expectRefused(poor, id, call, 403, Reason.PERMISSION_DENIED);
  });
});

describe("for other reasons", () => {
  const key = { id: "key_0" };
  const cases: readonly (readonly [string, string, OperationCall, number, Reason])[] = [
    ["no such key", "updateKey", { body: key }, 404, Reason.RESOURCE_NOT_FOUND],
    ["no such key", "rotateKey", { body: key }, 404, Reason.RESOURCE_NOT_FOUND],
    ["no such key", "deleteKey", { body: key }, 404, Reason.RESOURCE_NOT_FOUND],
    ["an unknown field", "createKey", { body: { name: "x", is_admin: true } }, 400, Reason.INVALID_VALUE],
    ["no name", "createKey", { body: {} }, 400, Reason.MISSING_FIELD],
    ["no such model", "getModel", { parameters: { id: "nobody" } }, 404, Reason.MODEL_NOT_FOUND],
    ["no such model", "getModel", { parameters: { id: "nobody" }, headers: anthropic }, 404, Reason.MODEL_NOT_FOUND],
    ["a limit of 0", "listModels", { parameters: { limit: 0 } }, 400, Reason.INVALID_VALUE],
    ["a limit of 0", "listModels", { parameters: { limit: 0 }, headers: anthropic }, 400, Reason.INVALID_VALUE],
    ["no such response", "getResponse", {}, 404, Reason.NOT_STORED],
    ["no such response", "deleteResponse", {}, 404, Reason.NOT_STORED],
    ["no such response", "cancelResponse", {}, 404, Reason.NOT_STORED],
    ["no such response", "listResponseInputItems", {}, 404, Reason.NOT_STORED],
    [
      ...(["no such response", "createResponse"] as const),
      { body: { ...body("createResponse"), previous_response_id: "resp_0" } },
      ...([400, Reason.PREVIOUS_RESPONSE_NOT_FOUND] as const),
    ],
    [
      ...(["nothing in the cache", "createChatCompletion"] as const),
      { body: body("createChatCompletion"), headers: { "cache-control": "only-if-cached" } },
      ...([504, Reason.NOT_CACHED] as const),
    ],
    ["no such path", "explainCall", { body: { path: "/v1/nothing", request: {} } }, 404, Reason.RESOURCE_NOT_FOUND],
  ];

  test.each(cases)("%s at %s", async (_, id, call, status, reason) => {
    await expectRefused(gateway, id, call, status, reason);
  });

  test("another request under an idempotency key", async () => {
    const headers = { "idempotency-key": "one" };
    const create = (name: string) => ({ body: { name }, headers });
    expect((await callOperation(gateway, operationCalled("createKey"), create("a"))).status).toBe(200);
    await expectRefused(gateway, "createKey", create("b"), 409, Reason.IDEMPOTENCY_CONFLICT);
  });
});
