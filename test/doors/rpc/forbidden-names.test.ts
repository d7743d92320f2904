/** A member `__proto__` is refused alike, wherever it is: in JSON and in protobuf, in short and in long requests, by every protocol. */
import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  CreateChatCompletionRequestSchema,
  FunctionDefinitionSchema,
  Role,
  ToolSchema,
  ToolType,
} from "../../../gen/modelgateway/v1/chat_pb.ts";
import { ErrorDetailSchema, Reason } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { bearer } from "../../support/dashboard/session.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
});

afterAll(() => gateway.close());

type Init = MessageInitShape<typeof CreateChatCompletionRequestSchema>;

const poisoned = JSON.parse('{"a":[{"__proto__":{"stream":true}}]}') as JsonObject;
const plain = { type: "object", properties: {} };
const tool = (parameters: JsonObject) =>
  create(ToolSchema, {
    type: ToolType.FUNCTION,
    function: create(FunctionDefinitionSchema, { name: "f", parameters }),
  });

/** places are where the name may be: the path that the refusal names, and a request that has it there. */
const places: readonly (readonly [path: string, request: Init])[] = [
  ["__proto__", { extra: JSON.parse('{"__proto__":{"stream":true}}') as JsonObject }],
  ["vendor", { extra: { vendor: poisoned } }],
  ["metadata.__proto__", { metadata: JSON.parse('{"__proto__":"x"}') as Record<string, string> }],
  ["tools[1].function.parameters", { tools: [tool(plain), tool(poisoned)] }],
];

const protocols: Readonly<Record<string, () => Transport>> = {
  "gRPC in protobuf": () => createGrpcTransport({ baseUrl: gateway.rootUrl }),
  "gRPC in JSON": () => createGrpcTransport({ baseUrl: gateway.rootUrl, useBinaryFormat: false }),
  "gRPC-Web in protobuf": () => createGrpcWebTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1" }),
  "Connect in protobuf": () =>
    createConnectTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1", useBinaryFormat: true }),
  "Connect in JSON": () => createConnectTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1" }),
};

const cases = Object.keys(protocols).flatMap((protocol) =>
  [40, 400_000].flatMap((length) => places.map(([path, init]) => [protocol, length, path, init] as const)),
);

test.each(cases)("by %s, in a request of %i bytes, at %s", async (protocol, length, path, init) => {
  const client = createClient(InferenceService, (protocols[protocol] as () => Transport)());
  const content = { case: "text" as const, value: "a".repeat(length) };
  const request = create(CreateChatCompletionRequestSchema, {
    ...{ model: "embedded-chat", messages: [{ role: Role.USER, content }] },
    ...init,
  });
  const error = await client
    .createChatCompletion(request, { headers: bearer(gateway.apiKey) })
    .then(() => undefined, ConnectError.from);
  expect([error?.code, error?.rawMessage]).toEqual([Code.InvalidArgument, expect.stringContaining("__proto__")]);
  // A long JSON text is refused for the name before its place is known.
  const [detail] = error?.findDetails(ErrorDetailSchema) ?? [];
  const isKnown = !(protocol.endsWith("JSON") && length > 65_536);
  if (isKnown) expect([detail?.reason, detail?.param]).toEqual([Reason.INVALID_TYPE, path]);
});
