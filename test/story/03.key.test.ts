/** A key: made with limits, shown once, good for what it may do, and worth nothing from the moment it is gone. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "../support/ask.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let made: { id: string; secret: string };
/** Key management admits a call a second. */
let time = Date.UTC(2026, 0, 2);

beforeAll(async () => {
  gateway = await startTestGateway({}, { admin: true, clock: () => time });
});
afterAll(() => gateway.close());

function manage(what: string, body: Record<string, string>, apiKey = gateway.apiKey) {
  time += 1000;
  return ask(gateway, `/api/v1/user/admin/${what}`, body, { apiKey });
}

const chat = (model: string) =>
  ask(
    gateway,
    "/v1/chat/completions",
    { model, messages: [{ role: "user", content: "Hello!" }] },
    { apiKey: made.secret },
  );

test("an administrator makes one for some models, and its secret is told this once", async () => {
  const body = { name: "Robot", models: "embedded-chat", credit_limit: "5" };
  const { status, json } = await manage("create-api-token", body);
  expect([status, json.data.name, json.data.models]).toEqual([200, "Robot", ["embedded-chat"]]);
  made = json.data;
  expect(made.secret).toMatch(/^sk-[\w-]{43}$/);
  const { text } = await manage("get-api-tokens", {});
  expect(text).toContain(made.id);
  expect(text).not.toContain(made.secret);
});

test("it calls the models that it is for, and no other", async () => {
  expect((await chat("embedded-chat")).status).toBe(200);
  const { status } = await ask(
    gateway,
    "/v1/embeddings",
    { model: "embedded-embedding", input: "Hello" },
    { apiKey: made.secret },
  );
  expect(status).toBe(403);
});

test("it manages no keys: that takes the administrator privilege", async () => {
  expect((await manage("get-api-tokens", {}, made.secret)).status).toBe(403);
});

test("deleted, it is refused from the next call on", async () => {
  expect((await manage("delete-api-token", { id: made.id })).status).toBe(200);
  expect((await chat("embedded-chat")).status).toBe(401);
});
