/**
 * Probes, by the paths that Kubernetes, load balancers and LiteLLM's charts ask: without a key, by HTTP/1.1 and HTTP/2, and without
 * a line in the log.
 */
import { once } from "node:events";
import { connect } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createReadiness } from "../../../src/doors/rpc/health.ts";
import { createProbes } from "../../../src/doors/site/probes.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";

const answers: Readonly<Record<string, unknown>> = {
  "/healthz": { status: "ok" },
  "/livez": { status: "ok" },
  "/readyz": { status: "ok" },
  "/health": { status: "healthy", db: "connected" },
  "/health/readiness": { status: "healthy", db: "connected" },
  "/health/liveliness": "I'm alive!",
  "/health/liveness": "I'm alive!",
};

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
});

afterAll(() => gateway?.close());

describe.each(Object.entries(answers))("%s", (path, expected) => {
  test("is answered by HTTP/1.1, with the ids of every answer", async () => {
    for (const sent of [path, `${path}/`, `/${path}?verbose`]) {
      const response = await fetch(gateway.rootUrl + sent);
      expect([response.status, await response.json()]).toEqual([200, expected]);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    }
  });

  test("is answered by HTTP/2", async () => {
    const session = connect(gateway.rootUrl);
    const stream = session.request({ ":path": path });
    const [head] = await once(stream, "response");
    const body = Buffer.concat(await stream.toArray()).toString();
    session.close();
    expect([head[":status"], JSON.parse(body)]).toEqual([200, expected]);
  });

  test("has a head, and no other methods", async () => {
    const head = await fetch(gateway.rootUrl + path, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    const posted = await fetch(gateway.rootUrl + path, { method: "POST", body: "{}" });
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    await posted.arrayBuffer();
  });

  test("leaves no line in the log", async () => {
    const before = gateway.logged().length;
    await (await fetch(gateway.rootUrl + path)).arrayBuffer();
    expect(gateway.logged().slice(before)).toBe("");
  });
});

test("a wrong key does not matter", async () => {
  const headers = { authorization: "Bearer sk-wrong" };
  for (const path of Object.keys(answers)) {
    const response = await fetch(gateway.rootUrl + path, { headers });
    expect(response.status).toBe(200);
    await response.arrayBuffer();
  }
});

test("other paths below /health are not served", async () => {
  for (const path of ["/health/x", "/healthzz", "/health/readiness/x", "/v1/health"]) {
    const response = await fetch(gateway.rootUrl + path);
    expect(response.status).toBe(404);
    await response.arrayBuffer();
  }
});

describe("while no calls are taken", () => {
  const told = (probes: ReturnType<typeof createProbes>) =>
    Object.fromEntries(Object.keys(answers).map((path) => [path, probes.answer(path)?.status]));
  const expected = {
    ...{ "/healthz": 200, "/livez": 200, "/health/liveliness": 200, "/health/liveness": 200 },
    ...{ "/readyz": 503, "/health": 503, "/health/readiness": 503 },
  };

  test("because the gateway starts, the process still counts as alive", () => {
    const readiness = createReadiness(undefined, true);
    const probes = createProbes(readiness);
    expect(told(probes)).toEqual(expected);
    expect(probes.answer("/health")?.json).toEqual({ status: "starting", db: "connected" });
    readiness.prepared();
    expect(Object.values(told(probes))).toEqual(Object.values(expected).map(() => 200));
  });

  test("because it drains, likewise", () => {
    const readiness = createReadiness();
    readiness.drain();
    expect(told(createProbes(readiness))).toEqual(expected);
  });

  test("because the database cannot be written, the answer says so, and not why: that is for the operator", () => {
    const readiness = createReadiness({ trouble: () => "the disk is full", onChange: () => () => {} });
    const probes = createProbes(readiness);
    expect(told(probes)).toEqual(expected);
    expect(probes.answer("/health/readiness")?.json).toEqual({ status: "storage_unavailable", db: "disconnected" });
  });
});
