/**
 * The files of the dashboard, as the gateway serves them: the page with its policy, what it needs, and nothing else.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { filesBelow } from "../../src/package/package-files.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  fetch(`${gateway.rootUrl}${path}`, { method, headers, redirect: "manual" });

/** The path exactly as it stands: `fetch` would take `..` out of it. */
function raw(path: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(gateway.rootUrl);
    request({ hostname, port, path }, (res) => {
      let body = "";
      res.on("data", (text) => (body += text)).on("end", () => resolve({ status: res.statusCode ?? 0, body }));
    })
      .on("error", reject)
      .end();
  });
}

/** The first script or style sheet that the page names. */
async function asset(kind: "js" | "css"): Promise<string> {
  const page = await (await get("/dashboard/")).text();
  return new RegExp(`/dashboard/assets/[\\w-]+\\.${kind}`).exec(page)?.[0] ?? "";
}

describe("the address of the gateway", () => {
  test("leads a browser to the dashboard", async () => {
    const answer = await get("/", { accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
    expect(answer.status).toBe(302);
    expect(answer.headers.get("location")).toBe("/dashboard/");
  });

  test("tells every other client the addresses", async () => {
    const answer = await get("/", { accept: "*/*" });
    expect(await answer.json()).toMatchObject({ name: "model-gateway", base_url: gateway.baseUrl });
  });
});

test("are read whole while they are built anew", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dashboard-"));
  const reads = new Int32Array(new SharedArrayBuffer(4));
  // Builds as `build.js` does, once more while each read goes on: what is new comes first, and what is old goes last.
  const script = `
    const { renameSync, rmSync, writeFileSync } = require("node:fs");
    const { workerData: { folder, reads }, parentPort } = require("node:worker_threads");
    const file = (build, i) => folder + "/part" + i + "-" + build + ".js";
    for (let build = 0; ; build++) {
      for (let i = 0; i < 20; i++) writeFileSync(file(build, i), "part");
      writeFileSync(folder + "/fresh", String(build));
      renameSync(folder + "/fresh", folder + "/index.html");
      for (let i = 0; i < 20; i++) rmSync(file(build - 1, i), { force: true });
      if (build === 0) parentPort.postMessage("built");
      Atomics.wait(reads, 0, build);
    }`;
  const building = new Worker(script, { eval: true, workerData: { folder, reads } });
  await once(building, "message");
  for (let i = 0; i < 1_000; i++) {
    Atomics.add(reads, 0, 1);
    Atomics.notify(reads, 0);
    const files = new Map(filesBelow(folder).map(({ path, body }) => [path, body.toString()]));
    const build = files.get("index.html");
    for (let part = 0; part < 20; part++) expect(files.get(`part${part}-${build}.js`)).toBe("part");
  }
  await building.terminate();
  rmSync(folder, { recursive: true });
});

describe("the page", () => {
  test("comes at every address below /dashboard, for it makes sense of them itself", async () => {
    for (const path of [
      "/dashboard",
      "/dashboard/",
      "/dashboard/keys",
      "/dashboard/usage/req_1",
      "/dashboard/index.html",
    ]) {
      const answer = await get(path);
      expect(answer.status, path).toBe(200);
      expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(await answer.text()).toContain('<div id="root">');
    }
  });

  test("lets in nothing but the gateway's own files, and the styles of this very answer", async () => {
    const [one, other] = [await get("/dashboard/"), await get("/dashboard/")];
    const policy = one.headers.get("content-security-policy") ?? "";
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? "";
    expect(nonce).toMatch(/^[\w+/]{22}==$/);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(other.headers.get("content-security-policy")).not.toBe(policy);
    const page = await one.text();
    expect(page).toContain(`nonce="${nonce}"`);
    expect(page).not.toContain("%NONCE%");
    // Every script has an address, and no element a handler.
    expect(page.match(/<script\b/g)?.length).toBe(page.match(/<script\b[^>]*\bsrc="\/dashboard\//g)?.length);
    expect(page).not.toMatch(/\son\w+=|<style/);
  });

  test("is asked for every time, is shown in no frame, and tells no other site where one was", async () => {
    const { headers } = await get("/dashboard/set-up");
    expect(Object.fromEntries(headers)).toMatchObject({
      "cache-control": "no-store",
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-request-id": expect.stringMatching(/^req_/),
    });
  });
});

describe("its files", () => {
  test("may be kept for ever, for their names change with them", async () => {
    for (const kind of ["js", "css"] as const) {
      const answer = await get(await asset(kind));
      expect(answer.status).toBe(200);
      expect(answer.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      const again = await get(await asset(kind), { "if-none-match": answer.headers.get("etag") ?? "" });
      expect(again.status).toBe(304);
    }
    expect((await get("/dashboard/icon.svg")).headers.get("cache-control")).toBe("public, max-age=3600");
  });

  test("come small to whom that is readable, and as they are to others", async () => {
    const path = await asset("js");
    const plain = await get(path, { "accept-encoding": "identity" });
    expect(plain.headers.get("content-encoding")).toBeNull();
    const body = Buffer.from(await plain.arrayBuffer());
    for (const [accepted, coding] of [
      ["gzip, br", "br"],
      ["gzip", "gzip"],
      ["gzip;q=0, br;q=0.5", "br"],
    ] as const) {
      const answer = await get(path, { "accept-encoding": accepted });
      expect(answer.headers.get("content-encoding"), accepted).toBe(coding);
      expect(Number(answer.headers.get("content-length"))).toBeLessThan(gzipSync(body).length * 1.01);
      expect(Buffer.from(await answer.arrayBuffer()).equals(body)).toBe(true);
    }
    expect((await get(path, { "accept-encoding": "br;q=0" })).headers.get("content-encoding")).toBeNull();
  });

  test("are read by GET and HEAD alone", async () => {
    const head = await get(await asset("css"), { "accept-encoding": "identity" }, "HEAD");
    expect(head.status).toBe(200);
    expect(Number(head.headers.get("content-length"))).toBeGreaterThan(1000);
    expect(await head.text()).toBe("");
    const posted = await get("/dashboard/keys", {}, "POST");
    expect(posted.status).toBe(405);
    expect(posted.headers.get("allow")).toBe("GET, HEAD");
  });

  test("are all that is served: no other name, and nothing beside the folder", async () => {
    expect((await get("/dashboard/assets/none-00000000.js")).status).toBe(404);
    for (const path of [
      "/dashboard/../package.json",
      "/dashboard/..%2f..%2fpackage.json",
      "/dashboard/assets/../../../package.json",
      "/dashboard/%2e%2e/%2e%2e/package.json",
    ]) {
      const answer = await raw(path);
      expect(answer.body, path).not.toContain('"devDependencies"');
    }
  });
});
