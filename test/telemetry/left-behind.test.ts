/**
 * The search that every test gateway goes through when it is closed finds what it must find: what callers and upstreams said,
 * whichever way it came, and every credential, wherever it was left.
 */
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import { Role } from "../../gen/modelgateway/v1/chat_pb.ts";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { newId } from "../../src/runtime/ids.ts";
import { asForm, asFormOfJson, asMultipart } from "../support/clients/endpoints.ts";
import { now, startTestGateway, type TestGateway, upstreamAt } from "../support/gateway.ts";
import { expectNothingLeft, foundIn } from "../support/left-behind.ts";
import { startScriptedUpstream } from "../support/scripted-upstream.ts";
import { startOtlpReceiver } from "../support/telemetry/otlp-receiver.ts";
import { chatAnswer } from "../support/vendors.ts";

/** Leaves a text in the database, where an account's name belongs. */
async function plant({ storage }: TestGateway, text: string): Promise<void> {
  await storage.accounts.insert({ id: newId("acc"), name: text, created_at: now, postpaid: 0 });
}

function post(
  gateway: TestGateway,
  path: string,
  body: NonNullable<RequestInit["body"]>,
  headers: Record<string, string> = {},
) {
  return fetch(gateway.baseUrl + path, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, ...headers },
    body,
  });
}

const asJson = { "content-type": "application/json" };

function chat(gateway: TestGateway, content: string): Promise<Response> {
  return post(
    gateway,
    "/chat/completions",
    JSON.stringify({ model: "embedded-chat", messages: [{ role: "user", content }] }),
    asJson,
  );
}

function chatBy(transport: ReturnType<typeof createGrpcTransport>, { apiKey }: TestGateway, text: string) {
  const messages = [{ role: Role.USER, content: { case: "text" as const, value: text } }];
  const options = { headers: { authorization: `Bearer ${apiKey}` } };
  return createClient(InferenceService, transport).createChatCompletion({ model: "embedded-chat", messages }, options);
}

const completion = (prompt: string) => ({ model: "embedded-chat", prompt });

/** How a prompt may come. */
const doors: Readonly<Record<string, (gateway: TestGateway, prompt: string) => Promise<unknown>>> = {
  JSON: chat,
  "JSON with quotes in it": (gateway, prompt) => chat(gateway, `"${prompt}"\n`),
  "a form": (gateway, prompt) => post(gateway, "/completions", asForm(completion(prompt)).body),
  "a form of JSON texts": (gateway, prompt) => post(gateway, "/completions", asFormOfJson(completion(prompt)).body),
  multipart: (gateway, prompt) => post(gateway, "/completions", asMultipart(completion(prompt)).body),
  "Connect, JSON": (gateway, prompt) => {
    const options = { baseUrl: gateway.rootUrl, httpVersion: "1.1" as const, useBinaryFormat: false };
    return chatBy(createConnectTransport(options), gateway, prompt);
  },
  "gRPC-Web": (gateway, prompt) =>
    chatBy(createGrpcWebTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1" }), gateway, prompt),
  gRPC: (gateway, prompt) => chatBy(createGrpcTransport({ baseUrl: gateway.rootUrl }), gateway, prompt),
  "a body that is no JSON": (gateway, prompt) => post(gateway, "/chat/completions", `{"content":"${prompt}",`, asJson),
};

for (const [i, [door, say]] of Object.entries(doors).entries()) {
  test(`a prompt that came by ${door} is found in a column, and never shown`, async () => {
    const gateway = await startTestGateway();
    const prompt = `the ${"abcdefghi"[i]}th thing that nobody else may read`;
    await say(gateway, prompt);
    await plant(gateway, `somebody said: ${prompt}!`);
    const closing = gateway.close();
    await expect(closing).rejects.toThrow(/leaves behind what was said \(.*…\) in accounts\.name$/);
    await expect(closing).rejects.not.toThrow(prompt);
  });
}

test("so is what an upstream answered, and what its key is", async () => {
  const answer = "An answer that is for its caller alone.";
  const upstream = await startScriptedUpstream((exchange) => exchange.json(200, chatAnswer({ content: answer })));
  const gateway = await startTestGateway(upstreamAt(upstream.baseUrl, "key-of-the-upstream"));
  await (await chat(gateway, "Hi")).text();
  await plant(gateway, answer);
  await plant(gateway, "key-of-the-upstream");
  await expect(gateway.close()).rejects.toThrow(
    /what was said .* in accounts\.name, a credential .* in accounts\.name/,
  );
  await upstream.close();
});

test("so is a key that was issued, one that was shown in vain, and a session's cookie", async () => {
  const gateway = await startTestGateway();
  const { rootUrl, apiKey } = gateway;
  await fetch(`${rootUrl}/v1/models`, { headers: { "x-api-key": "sk-nobody-knows-this-one" } });
  await fetch(`${rootUrl}/v1/models`, { headers: { cookie: "theme=dark; gateway_session=a-cookie-of-somebody" } });
  await post(gateway, "/models", "");
  for (const secret of [apiKey, "sk-nobody-knows-this-one", "a-cookie-of-somebody"]) {
    expect(foundIn(`before ${secret} after`)).toMatch(/^a credential/);
  }
  await plant(gateway, apiKey);
  await expect(gateway.close()).rejects.toThrow(/a credential \(sk-.{3}…\) in accounts\.name/);
});

test("in the log, the metrics and the traces, too, and cut short", async () => {
  const gateway = await startTestGateway();
  const receiver = await startOtlpReceiver();
  const prompt = "A sentence that must not be read by those who look after machines.";
  await (await chat(gateway, prompt)).text();
  const { database } = gateway;
  const clean = { log: gateway.logged(), metrics: "", database };
  await expectNothingLeft(clean);
  await expect(expectNothingLeft({ ...clean, log: `${clean.log}{"msg":"${prompt.slice(0, 44)}"}` })).rejects.toThrow(
    "the log",
  );
  await expect(expectNothingLeft({ ...clean, metrics: `calls{prompt="${prompt}"} 1` })).rejects.toThrow("the metrics");
  const spans = [{ name: prompt }];
  await fetch(`${receiver.endpoint}/v1/traces`, { method: "POST", body: JSON.stringify({ spans }) });
  await expect(expectNothingLeft(clean)).rejects.toThrow("the traces");
  await gateway.close();
  await receiver.close();
});
