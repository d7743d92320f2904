/**
 * The examples of the document: each request is valid by its schema, and a gateway answers it with what the document says of the
 * answer: media type, schema, headers, and the members of the example.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answersOf, parametersOf, requestsOf } from "../../../packaging/openapi/examples/examples.ts";
import { eventsOf } from "../../support/clients/endpoints.ts";
import {
  callOperation,
  document,
  faultsOf,
  type OperationCall,
  operationCalled,
  operationsIn,
  type PlacedOperation,
  responseOf,
} from "../../support/clients/openapi.ts";
import { hurriedClock, startTestGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({}, { admin: true, clock: hurriedClock() });
});

afterAll(async () => {
  await gateway?.close("running");
});

const operations = operationsIn(document).filter(({ tags }) => tags[0] !== "Gateway");

describe.each(operations.map((operation) => [operation.operationId, operation] as const))("%s", (id, operation) => {
  const examples = Object.entries(requestsOf(id));
  const types = Object.keys(operation.requestBody?.content ?? {});

  test.each(examples)("has the valid example %s", (_, { value }) => {
    const schema = operation.requestBody?.content["application/json"]?.schema;
    expect(faultsOf(schema ?? {}, value)).toEqual([]);
  });

  const sent = examples.flatMap(([name, { value, form = false, answer = "application/json" }]) =>
    types.filter((type) => type === "application/json" || form).map((type) => [name, type, { value, answer }] as const),
  );

  test.each(sent)("answers %s as %s", async (name, type, { value, answer }) => {
    await expectAnswered(operation, { body: value, type }, answer);
    expect(answersTo(id, name, answer).length).toBeGreaterThan(0);
  });

  if (examples.length === 0) {
    test("answers the example of its parameters", async () => {
      await expectAnswered(operation, {}, id === "exportRequests" ? "text/csv" : "application/json");
    });
  }
});

test.each(operationsIn(document).filter(({ tags }) => tags[0] === "Gateway"))(
  "$path, which needs no key, answers as the document says",
  async (operation) => {
    const response = await fetch(gateway.rootUrl + operation.path);
    const text = await response.text();
    const [type = "", content] = Object.entries(responseOf(operation, response.status)?.content ?? {})[0] ?? [];
    expect([response.status, response.headers.get("content-type")?.split(";")[0]]).toEqual([200, type]);
    expect(faultsOf(content?.schema ?? { const: "" }, type === "application/json" ? JSON.parse(text) : text)).toEqual(
      [],
    );
    for (const answer of [200, 503].map((status) => responseOf(operation, status)?.content?.[type])) {
      for (const { value } of Object.values(answer?.examples ?? {}))
        expect(faultsOf(answer?.schema ?? {}, value)).toEqual([]);
    }
  },
);

/** The examples of an answer in the document. Bytes have none. */
function answersTo(id: string, name: string, type: string): readonly unknown[] {
  if (type.startsWith("audio/")) return [type];
  const answers = Object.entries(answersOf(id)).filter(([, answer]) => answer.type === type);
  return answers.filter(([key]) => type === "text/event-stream" || key === name);
}

async function expectAnswered(operation: PlacedOperation, call: OperationCall, type: string): Promise<void> {
  const ids = await idsFor(operation);
  const parameters = filled(parametersOf(operation.operationId), ids);
  const body = call.body && filled(call.body, ids);
  const response = await callOperation(gateway, operation, { ...call, parameters, ...(body ? { body } : {}) });
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(response.status, bytes.toString()).toBe(200);
  expect(response.headers.get("content-type")?.split(";")[0]).toBe(type);
  const told = responseOf(operation, 200);
  const headers = [...response.headers.keys()].filter((name) =>
    /^(x-|anthropic-|request-id$|server-timing$)/.test(name),
  );
  expect(headers.filter((name) => !told?.headers?.[name] && name !== "x-accel-buffering")).toEqual([]);
  const content = told?.content?.[type];
  if (!content) throw new Error(`${operation.operationId} does not tell of ${type}.`);
  const values = valuesOf(bytes, type);
  for (const value of values) expect(faultsOf(content.schema, value), JSON.stringify(value)).toEqual([]);
  for (const [name, { value }] of Object.entries(content.examples ?? {})) {
    expect(faultsOf(content.schema, value), name).toEqual([]);
  }
}

function valuesOf(bytes: Buffer, type: string): readonly unknown[] {
  if (type === "application/json") return [JSON.parse(bytes.toString())];
  if (type !== "text/event-stream") return [bytes.toString("latin1")];
  const payloads = eventsOf(bytes).map(({ data }) => data.toString());
  return payloads.filter((payload) => payload !== "[DONE]").map((payload) => JSON.parse(payload) as unknown);
}

/** Makes the key or the response that an example names. */
async function idsFor({ operationId, path }: PlacedOperation): Promise<Readonly<Record<string, string>>> {
  if (/^(update|rotate|delete)Key$/.test(operationId)) {
    const made = await callOperation(gateway, operationCalled("createKey"), { body: { name: "example" } });
    const { data } = (await made.json()) as { data: { id: string } };
    return { key_0123456789abcdef: data.id };
  }
  if (!path.startsWith("/v1/responses/{id}")) return {};
  const background = operationId === "cancelResponse";
  const body = { model: "embedded-chat", input: "say Hello!", background };
  const made = await callOperation(gateway, operationCalled("createResponse"), { body });
  const { id } = (await made.json()) as { id: string };
  return { resp_0123456789abcdef: id };
}

function filled<T extends object>(value: T, ids: Readonly<Record<string, string>>): T {
  let text = JSON.stringify(value);
  for (const [example, id] of Object.entries(ids)) text = text.replaceAll(example, id);
  return JSON.parse(text) as T;
}

describe("answers in the document", () => {
  const told = operations.flatMap(({ operationId }) =>
    Object.entries(answersOf(operationId)).map(
      ([name, answer]) => [`${operationId} ${name}`, operationId, name, answer] as const,
    ),
  );

  test.each(told.filter(([, , , { type }]) => type === "application/json"))(
    "have the members of a real one: %s",
    async (_, id, name, { value }) => {
      const operation = operationCalled(id);
      const ids = await idsFor(operation);
      const request = requestsOf(id)[name];
      const parameters = filled(parametersOf(id), ids);
      const response = await callOperation(gateway, operation, {
        parameters,
        ...(request ? { body: filled(request.value, ids) } : {}),
      });
      expect(membersOf(value)).toEqual(membersOf(await response.json()));
    },
  );
});

/** Returns the paths of the members of an object, whose lists count by their first items. */
function membersOf(value: unknown, path = ""): readonly string[] {
  if (Array.isArray(value)) return value.length === 0 ? [`${path}[]`] : membersOf(value[0], `${path}[]`);
  if (typeof value !== "object" || value === null) return [`${path}: ${value === null ? "null" : typeof value}`];
  return Object.entries(value)
    .flatMap(([key, member]) => membersOf(member, `${path}.${key}`))
    .sort();
}
