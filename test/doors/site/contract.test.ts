/** The contract for programs, as the gateway serves it: the OpenAPI document and the index of the documentation. */
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { root } from "../../support/pages.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({ corsOrigins: ["https://app.example.com"] });
});

afterAll(() => gateway?.close());

const served = [
  ["/openapi.json", "gen/openapi.json", "application/json"],
  ["/llms.txt", "gen/llms.txt", "text/plain; charset=utf-8"],
] as const;

describe.each(served)("%s", (path, file, type) => {
  const get = (headers: Record<string, string> = {}, method = "GET") =>
    fetch(gateway.rootUrl + path, { method, headers });

  test("is the file, without a key, with its type", async () => {
    const response = await get();
    expect([response.status, response.headers.get("content-type")]).toEqual([200, type]);
    expect(await response.text()).toBe(readFileSync(join(root, file), "utf8"));
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
  });

  test("is sent again only where it has changed", async () => {
    const first = await get();
    const etag = first.headers.get("etag") ?? "";
    expect([etag.length > 10, first.headers.get("cache-control")]).toEqual([true, "public, max-age=3600"]);
    await first.arrayBuffer();
    const known = await get({ "if-none-match": `"other", W/${etag}` });
    expect([known.status, await known.text(), known.headers.get("etag")]).toEqual([304, "", etag]);
    const other = await get({ "if-none-match": '"other"' });
    expect(other.status).toBe(200);
    await other.arrayBuffer();
  });

  test("is open to pages of all origins, whichever the operator lists", async () => {
    for (const origin of ["https://app.example.com", "https://editor.example.org"]) {
      const response = await get({ origin });
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      await response.arrayBuffer();
    }
  });

  test("has a head, and no other methods", async () => {
    const head = await get({ "accept-encoding": "identity" }, "HEAD");
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect(Number(head.headers.get("content-length"))).toBe(readFileSync(join(root, file)).length);
    const posted = await get({}, "POST");
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    await posted.arrayBuffer();
  });

  test("is found with a slash too many", async () => {
    const response = await fetch(`${gateway.rootUrl}/${path}`);
    expect(response.status).toBe(200);
    await response.arrayBuffer();
  });

  test("leaves no line in the log", async () => {
    const before = gateway.logged().length;
    await (await get()).arrayBuffer();
    expect(gateway.logged().slice(before)).toBe("");
  });
});

test("the document is small on the wire", async () => {
  const body = await new Promise<Buffer>((resolve, reject) => {
    request(`${gateway.rootUrl}/openapi.json`, { headers: { "accept-encoding": "br" } }, (res) => {
      expect(res.headers["content-encoding"]).toBe("br");
      res.toArray().then((pieces) => resolve(Buffer.concat(pieces as Buffer[])), reject);
    })
      .on("error", reject)
      .end();
  });
  expect(body.length).toBeLessThan(60_000);
  expect(brotliDecompressSync(body)).toEqual(readFileSync(join(root, "gen/openapi.json")));
});
