/** The documentation, as the gateway serves it: pages at clean addresses with their policy, what they need, and nothing else. */
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDocs } from "../../src/doors/site/docs.ts";
import type { PackageFile } from "../../src/package/package-files.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

const page = `<!DOCTYPE html><head><script id="theme">document.title = "a";</script><script src="/docs/assets/app.js"></script></head><body>${"<p>Prices.</p>".repeat(200)}</body>`;
const built: readonly PackageFile[] = Object.entries({
  "index.html": "<p>front</p>",
  "404.html": "<p>no such page</p>",
  "prices.html": page,
  "quick-start/caller.html": "<p>caller</p>",
  "assets/app.abcdefgh.js": "export const answer = 42;".repeat(100),
  "icon.svg": "<svg/>",
  "files/gateway.example.yaml": "port: 8080\n",
}).map(([path, text]) => ({ path, body: Buffer.from(text) }));

/** Serves these files as the gateway does, and counts how often they were read. */
async function serve(files: readonly PackageFile[]): Promise<{ server: Server; url: string; reads: () => number }> {
  let reads = 0;
  const docs = createDocs(() => {
    reads++;
    return files;
  });
  const server = createServer(async (req, res) => {
    const path = req.url ?? "";
    if (!docs.serves(path) || !(await docs.handle(req, res, path))) res.writeHead(418).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, reads: () => reads };
}

let site: Awaited<ReturnType<typeof serve>>;

beforeAll(async () => {
  site = await serve(built);
});
afterAll(() => void site.server.close());

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${site.url}${path}`, { headers, redirect: "manual" });

/** The bytes as they were sent: `fetch` would decompress them. */
function raw(path: string, headers: Record<string, string>): Promise<{ coding: string | undefined; body: Buffer }> {
  return new Promise((resolve, reject) => {
    request(`${site.url}${path}`, { headers }, (res) => {
      const parts: Buffer[] = [];
      res.on("data", (part) => parts.push(part));
      res.on("end", () => resolve({ coding: res.headers["content-encoding"], body: Buffer.concat(parts) }));
    })
      .on("error", reject)
      .end();
  });
}

describe("a page", () => {
  test.each([
    ["/docs/", "front"],
    ["/docs/quick-start/caller", "caller"],
  ])("is at %s, without an ending", async (path, text) => {
    const answer = await get(path);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(await answer.text()).toContain(text);
  });

  test.each([
    ["/docs", "/docs/"],
    ["/docs/index.html", "/docs/"],
    ["/docs/prices.html", "/docs/prices"],
    ["/docs/prices/", "/docs/prices"],
    ["/docs/quick-start/caller.html", "/docs/quick-start/caller"],
  ])("that is asked for as %s is at %s", async (path, location) => {
    const answer = await get(path);
    expect([answer.status, answer.headers.get("location")]).toEqual([301, location]);
  });

  test("that does not exist is answered with a page that says so, and 404", async () => {
    for (const path of ["/docs/nowhere", "/docs/quick-start/", "/docs/../package.json", "/docs/%2e%2e/package.json"]) {
      const answer = await get(path);
      expect(answer.status === 404 || answer.status === 418, path).toBe(true);
    }
    const answer = await get("/docs/nowhere");
    expect([answer.status, await answer.text()]).toEqual([404, "<p>no such page</p>"]);
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
  });

  test("lets in the gateway's own files and the scripts that stand in it, and nothing else", async () => {
    const { headers } = await get("/docs/prices");
    const policy = headers.get("content-security-policy") ?? "";
    // The hash of `document.title = "a";`.
    expect(policy).toContain("script-src 'self' 'sha256-VExO9kjnEOZtAx3ejLxx+QAFgnZ+5MnCqGYJFuCJ5n0=';");
    expect(policy).toContain("style-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(Object.fromEntries(headers)).toMatchObject({
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "cache-control": "no-cache",
    });
  });

  test("is sent again only when it has changed", async () => {
    const etag = (await get("/docs/prices")).headers.get("etag") ?? "";
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
      const again = await get("/docs/prices", { "if-none-match": known });
      expect([again.status, await again.text()], known).toEqual([304, ""]);
      expect(again.headers.get("content-security-policy")).not.toBeNull();
    }
    expect((await get("/docs/prices", { "if-none-match": '"other"' })).status).toBe(200);
  });

  test("comes small to whom that is readable", async () => {
    const [br, gzip, plain] = [
      await raw("/docs/prices", { "accept-encoding": "gzip, br" }),
      await raw("/docs/prices", { "accept-encoding": "gzip" }),
      await raw("/docs/prices", {}),
    ];
    expect([br.coding, gzip.coding, plain.coding]).toEqual(["br", "gzip", undefined]);
    expect(brotliDecompressSync(br.body).toString()).toBe(page);
    expect(gunzipSync(gzip.body).toString()).toBe(page);
    expect(plain.body.toString()).toBe(page);
    expect(br.body.length).toBeLessThan(page.length / 4);
  });
});

describe("a file", () => {
  test("with a hash in its name may be kept for ever; others for an hour", async () => {
    const script = await get("/docs/assets/app.abcdefgh.js");
    expect(script.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(script.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect((await get("/docs/icon.svg")).headers.get("cache-control")).toBe("public, max-age=3600");
    expect((await get("/docs/files/gateway.example.yaml")).headers.get("content-type")).toBe(
      "text/yaml; charset=utf-8",
    );
  });

  test("that is gone is not a page", async () => {
    expect((await get("/docs/assets/app.00000000.js")).status).toBe(418);
  });
});

test("files are read on the first request for one of them, once", async () => {
  const { server, url, reads } = await serve(built);
  expect(reads()).toBe(0);
  await Promise.all(["/docs/", "/docs/prices", "/docs/nowhere"].map((path) => fetch(`${url}${path}`)));
  expect(reads()).toBe(1);
  server.close();
});

test("documentation that is not built is told how to build it", async () => {
  const { server, url } = await serve([]);
  const answer = await fetch(`${url}/docs/prices`);
  expect([answer.status, await answer.text()]).toEqual([
    503,
    "The documentation is not built. `npm run build:site` in the project's folder builds it.\n",
  ]);
  server.close();
});

describe("the gateway", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  test("serves its documentation without a key, for reading only", async () => {
    const answer = await fetch(`${gateway.rootUrl}/docs/`);
    expect(answer.status, "npm run build builds it").toBe(200);
    expect(answer.headers.get("x-request-id")).toMatch(/^req_/);
    expect(await answer.text()).toContain("<title>model-gateway");
    const posted = await fetch(`${gateway.rootUrl}/docs/`, { method: "POST" });
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    const head = await fetch(`${gateway.rootUrl}/docs/`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  test("serves none of it where `docs` is false", async () => {
    const without = await startTestGateway({ docs: false });
    for (const path of ["/docs", "/docs/", "/docs/prices"]) {
      const answer = await fetch(`${without.rootUrl}${path}`);
      expect(answer.status, path).toBe(404);
      expect(await answer.json()).toMatchObject({ error: { code: "unknown_url" } });
    }
    await without.close();
  });
});
