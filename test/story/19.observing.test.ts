/** What an operator sees of a call: a line in the log, numbers in the metrics, one id in both; and never its words. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "../support/ask.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let id: string;
const words = "The walrus and the carpenter were walking close at hand.";

beforeAll(async () => {
  gateway = await startTestGateway();
  const body = { model: "embedded-chat", messages: [{ role: "user", content: words }] };
  id = (await ask(gateway, "/v1/chat/completions", body)).headers.get("x-request-id") ?? "";
});
afterAll(() => gateway.close());

test("the answer's request id finds the call in the log", () => {
  expect(id).toMatch(/^req_/);
  const line = gateway
    .logged()
    .split("\n")
    .find((text) => text.includes(id));
  expect(JSON.parse(line ?? "{}")).toMatchObject({ model: "embedded-chat", status: 200 });
});

test("the metrics count it", async () => {
  const metrics = await (await fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`)).text();
  expect(metrics).toMatch(/^model_gateway_requests_total\{[^}]*model="embedded-chat",status="200"\} 1$/m);
});

test("neither holds the key, nor anything that was said", async () => {
  const metrics = await (await fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`)).text();
  for (const text of [gateway.logged(), metrics]) {
    expect(text).not.toContain(gateway.apiKey);
    expect(text).not.toContain("walrus");
  }
});

test("the gateway says whether it is alive and ready, to whoever asks", async () => {
  for (const probe of ["healthz", "readyz"]) expect((await fetch(`${gateway.rootUrl}/${probe}`)).status).toBe(200);
});
