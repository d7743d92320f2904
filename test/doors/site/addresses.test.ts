/**
 * The addresses that the gateway announces, and the web pages that may call it.
 */
import { afterEach, describe, expect, test } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;

afterEach(() => gateway.close());

async function addresses(config: Partial<Config>, headers: Record<string, string> = {}): Promise<unknown> {
  gateway = await startTestGateway(config);
  return (await fetch(gateway.rootUrl, { headers })).json();
}

describe("GET /", () => {
  test("returns the address of the request", async () => {
    const told = await addresses({});
    expect(told).toEqual({ name: "model-gateway", root_url: gateway.rootUrl, base_url: gateway.baseUrl });
  });

  test("returns every address that the operator configures", async () => {
    const publicUrls = {
      root: "https://g.test",
      direct: "https://us.test",
      cdn: "https://cdn.test",
      cn: "https://cn.test",
    };
    expect(await addresses({ publicUrls })).toEqual({
      name: "model-gateway",
      root_url: "https://g.test",
      base_url: "https://g.test/v1",
      direct_url: "https://us.test",
      cdn_url: "https://cdn.test",
      cn_url: "https://cn.test",
    });
  });

  const forwarded = { "x-forwarded-host": "g.test", "x-forwarded-proto": "https" };

  test("believes a listed proxy", async () => {
    const told = await addresses({ trustedProxies: ["127.0.0.0/8"] }, forwarded);
    expect(told).toMatchObject({ root_url: "https://g.test" });
  });

  test("believes no one else", async () => {
    const told = await addresses({ trustedProxies: ["10.0.0.0/8", "::1"] }, forwarded);
    expect(told).toMatchObject({ root_url: gateway.rootUrl });
  });
});

describe("a web page", () => {
  const page = "https://app.test";
  const preflight = {
    origin: page,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization, x-stainless-lang",
  };

  test("of a listed origin may call, with the headers that it requests", async () => {
    gateway = await startTestGateway({ corsOrigins: [page] });
    const response = await fetch(`${gateway.baseUrl}/chat/completions`, { method: "OPTIONS", headers: preflight });
    expect(response.status).toBe(204);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "access-control-allow-origin": page,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "authorization, x-stainless-lang",
      "x-request-id": expect.stringMatching(/^req_/),
    });
  });

  test("of a listed origin may read the request id, even of a refusal", async () => {
    gateway = await startTestGateway({ corsOrigins: ["*"] });
    const response = await fetch(`${gateway.baseUrl}/models`, { headers: { origin: page } });
    expect(response.status).toBe(401);
    expect(response.headers.get("access-control-allow-origin")).toBe(page);
    expect(response.headers.get("access-control-expose-headers")).toContain("x-request-id");
  });

  test("of another origin may not", async () => {
    gateway = await startTestGateway({ corsOrigins: ["https://other.test"] });
    const response = await fetch(`${gateway.baseUrl}/chat/completions`, { method: "OPTIONS", headers: preflight });
    expect(response.status).toBe(405);
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
  });
});
