/** A call by the generated client: the same service over gRPC and Connect, every field by its name. */
import { ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Role } from "../../gen/modelgateway/v1/chat_pb.ts";
import { ErrorDetailSchema, Reason } from "../../gen/modelgateway/v1/errors_pb.ts";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const transports: Readonly<Record<string, () => Transport>> = {
  gRPC: () => createGrpcTransport({ baseUrl: gateway.rootUrl }),
  Connect: () => createConnectTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1" }),
};

function asked(text: string, model = "embedded-chat") {
  return { model, messages: [{ role: Role.USER, content: { case: "text" as const, value: text } }] };
}

for (const [name, transport] of Object.entries(transports)) {
  test(`${name}: a chat is answered as a message, and streamed as messages`, async () => {
    const client = createClient(InferenceService, transport());
    const options = { headers: { authorization: `Bearer ${gateway.apiKey}` } };
    const { choices, usage } = await client.createChatCompletion(asked("say: Good morning"), options);
    expect(choices[0]?.message?.content).toBe("Good morning");
    expect(usage?.totalTokens).toBeGreaterThan(0);
    let streamed = "";
    for await (const chunk of client.streamChatCompletion(asked("say: Good morning"), options)) {
      streamed += chunk.choices[0]?.delta?.content ?? "";
    }
    expect(streamed).toBe("Good morning");
  });

  test(`${name}: a refusal has a reason that a program reads`, async () => {
    const client = createClient(InferenceService, transport());
    const refused = await client.createChatCompletion(asked("Hi"), {}).catch(ConnectError.from);
    const [detail] = (refused as ConnectError).findDetails(ErrorDetailSchema);
    expect(detail).toMatchObject({ reason: Reason.INVALID_API_KEY, httpStatus: 401 });
  });
}
