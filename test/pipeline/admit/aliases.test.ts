/**
 * The model behind an alias is hidden from callers that may not use it: a refusal has the name that the caller sent, at every endpoint,
 * at every door, in whatever field it stands.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ModelConfig } from "../../../src/config/config.ts";
import { doorsOf, type EndpointName, endpoints } from "../../support/clients/endpoints.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { openAccount } from "../../support/payer.ts";

let gateway: TestGateway;
let apiKey: string;

const served = { chat: "embedded-chat", embedding: "embedded-embedding", speech: "tts-1" } as const;
const kinds = Object.keys(served) as (keyof typeof served)[];

/** Of each kind one that no key here may use, behind an alias, which comes first and so is the default, and one that it may. */
const models = kinds.flatMap((kind): ModelConfig[] => [
  model(`covert-${kind}-id`, [`public-${kind}`], "covert-family", kind),
  model(`own-${kind}`, [], "own", kind),
]);

function model(id: string, aliases: string[], family: string, kind: keyof typeof served): ModelConfig {
  const targets = [{ upstream: "embedded", model: served[kind], priority: 0, weight: 1 }];
  return { id, aliases, family, kind, targets, price: { input: 1, output: 1, characters: 1 } };
}

beforeAll(async () => {
  gateway = await startTestGateway({ models, embeddedModels: false });
  apiKey = (await openAccount(gateway, { models: ["family:own"], postpaid: true, recharge: 300_000_000 })).apiKey;
});

afterAll(() => gateway.close());

const messages = [{ role: "user", content: "Hello" }];
const requests: Readonly<Record<string, (more: JsonObject) => JsonObject>> = {
  "/chat/completions": (more) => ({ messages, max_tokens: 4, ...more }),
  "/messages": (more) => ({ messages, max_tokens: 4, ...more }),
  "/messages/count_tokens": (more) => ({ messages, ...more }),
  "/completions": (more) => ({ prompt: "Hello", max_tokens: 4, ...more }),
  "/responses": (more) => ({ input: "Hello", ...more }),
  "/embeddings": (more) => ({ input: "Hello", ...more }),
  "/audio/speech": (more) => ({ input: "Hello", voice: "alloy", ...more }),
};

/** All that an answer tells: its status, headers and body, in one text. */
async function told(path: string, init: RequestInit = {}): Promise<string> {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json", "idempotency-key": path };
  const response = await fetch(`${gateway.baseUrl}${path}`, { ...init, headers: { ...headers, ...init.headers } });
  return JSON.stringify([response.status, [...response.headers], await response.text()]);
}

const post = (path: string, body: JsonObject, headers: Record<string, string> = {}) =>
  told(path, { method: "POST", body: JSON.stringify(body), headers });

function kindAt(path: string): keyof typeof served {
  if (path === "/embeddings") return "embedding";
  return path === "/audio/speech" ? "speech" : "chat";
}

describe.each(Object.entries(requests))("at %s", (path, requestOf) => {
  const kind = kindAt(path);

  test.each(kinds)("an alias of a model of the kind %s is refused by its own name", async (other) => {
    const name = `public-${other}`;
    for (const stream of [false, true]) {
      const text = await post(path, requestOf({ model: name, ...(stream ? { stream } : {}) }));
      expect(text).toMatch(/^\[403,/);
      expect(text).toContain(name);
      expect(text).not.toContain("covert");
    }
  });

  test("an alias among the models to fall back to is refused by its own name and place", async () => {
    const text = await post(path, requestOf({ model: `own-${kind}`, models: [`public-${kind}`] }));
    expect(text).toMatch(/^\[403,/);
    expect(text).toContain(`public-${kind}`);
    expect(text).not.toContain("covert");
  });

  test("the model that stands for none is not named", async () => {
    expect(await post(path, requestOf({}))).not.toContain("covert");
  });

  test("what would become of the call names no other model", async () => {
    for (const more of [{ model: `public-${kind}` }, { model: `own-${kind}`, models: [`public-${kind}`] }, {}]) {
      expect(await post("/explain", { path: `/v1${path}`, request: requestOf(more) })).not.toContain("covert");
    }
  });

  test("an answer from the cache alone is refused by the same name", async () => {
    const text = await post(path, requestOf({ model: `public-${kind}` }), { "cache-control": "only-if-cached" });
    expect(text).toContain(`public-${kind}`);
    expect(text).not.toContain("covert");
  });
});

test("an alias is described as a name that nobody has, and listed nowhere", async () => {
  const unknown = await told("/models/nobody");
  const described = await told("/models/public-chat");
  const alike = (text: string) =>
    text.replace(/\["(?:x-)?request-id","[^"]*"\]|\["(?:date|x-ratelimit[^"]*)","[^"]*"\]/g, "");
  expect(alike(described)).toBe(
    alike(unknown)
      .replaceAll("nobody", "public-chat")
      .replace(/"content-length","\d+"/, (length) =>
        length.replace(/\d+/, (count) => String(Number(count) + "public-chat".length - "nobody".length)),
      ),
  );
  for (const path of ["/models", "/key", "/models?after_id=public-chat", "/models?before_id=covert-chat-id"]) {
    expect((await told(path)).replace("before_id=covert-chat-id", ""), path).not.toContain("covert");
  }
});

const byRpc = ["chat", "messages", "count_tokens", "completions", "responses", "embeddings", "model"] as const;
test.each(byRpc)("no door tells what stands behind an alias: %s", async (name) => {
  const endpoint = endpoints[name as EndpointName];
  const kind = name === "embeddings" ? "embedding" : "chat";
  const path = endpoint.path({ id: "x" });
  const request =
    name === "model" ? { id: "public-chat" } : (requests[path]?.({ model: `public-${kind}` }) as JsonObject);
  for (const door of doorsOf(endpoint)) {
    for (const stream of endpoint.stream ? [false, true] : [false]) {
      const outcome = await door.call(gateway, { request, stream, apiKey });
      expect(outcome.refused?.status, door.name).toBe(name === "model" ? 404 : 403);
      expect(outcome.refused?.message, door.name).toContain(`public-${kind}`);
      expect(JSON.stringify(outcome), door.name).not.toContain("covert");
    }
  }
});
