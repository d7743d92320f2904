/**
 * Paths, methods and upgrades as clients, people and proxies write them, over a real port.
 */
import { once } from "node:events";
import http2 from "node:http2";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pathOf, plainPath } from "../../../src/doors/request-path.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({
    responsesSocket: { enabled: false, idleMs: 1000, maxBytes: 1024, maxBytesPerAccount: 1024 },
  });
});

afterAll(() => gateway.close());

describe("a path is normalised:", () => {
  const meant: Readonly<Record<string, string>> = {
    "/": "/",
    "//": "/",
    "///": "/",
    "/v1/models": "/v1/models",
    "/v1/models/": "/v1/models",
    "//v1///models//": "/v1/models",
    "/v1/v1/models": "/v1/models",
    "/v1//v1/v1/models": "/v1/models",
    "/v1/v1": "/v1/v1",
    "/v1/v12/models": "/v1/v12/models",
    "/v1/models/a%2F%2Fb": "/v1/models/a%2F%2Fb",
    "/v1/models/v1/v1/x": "/v1/models/v1/v1/x",
    "": "",
  };
  for (const [path, expected] of Object.entries(meant)) {
    test(`${path} as ${expected}`, () => expect(plainPath(path)).toBe(expected));
  }

  test("whatever its length, in time in proportion to it", () => {
    const began = performance.now();
    plainPath("/".repeat(1_000_000));
    plainPath("/v1".repeat(1_000_000));
    plainPath("/a//".repeat(1_000_000));
    // Time in proportion to the square of it would be minutes on any machine.
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  test("without its query, and without the address that a proxy sends", () => {
    expect(pathOf("/v1/models/?a=//")).toBe("/v1/models/");
    expect(pathOf("http://gateway.test//v1/models?limit=1")).toBe("//v1/models");
  });
});

const chat = JSON.stringify({ model: "embedded-chat", messages: [{ role: "user", content: "Hi" }], max_tokens: 5 });

describe("is served", () => {
  const posted = [
    "/v1/chat/completions/",
    "//v1/chat/completions",
    "/v1//chat//completions",
    "/v1/v1/chat/completions",
  ];
  for (const path of [...posted, "/chat/completions/", "/v1/messages/", "/v1/v1/messages?beta=true", "//messages"]) {
    test(`POST ${path}, by HTTP/1.1 with and without Node's server, and by HTTP/2`, async () => {
      const headers = { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" };
      for (const more of [{}, { origin: "https://app.example.com" }]) {
        const sent = { method: "POST", headers: { ...headers, ...more }, body: chat };
        const response = await fetch(gateway.rootUrl + path, sent);
        expect(response.status).toBe(200);
        await response.arrayBuffer();
      }
      expect(await overHttp2("POST", path, chat)).toMatchObject({ ":status": 200 });
    });
  }

  const read = ["/v1/models/", "//v1/models", "/healthz/", "//healthz", "/readyz/", "//", "/v1/models//embedded-chat/"];
  for (const path of [...read, "/v1/models", "/v1/key", "/models/embedded-chat", "/", "/healthz"]) {
    test(`GET ${path}, and HEAD with the same head and no body`, async () => {
      const headers = { authorization: `Bearer ${gateway.apiKey}` };
      const [got, head] = await Promise.all(
        ["GET", "HEAD"].map(async (method) => {
          const response = await fetch(gateway.rootUrl + path, { method, headers });
          const { length } = await response.text();
          return { status: response.status, type: response.headers.get("content-type"), length };
        }),
      );
      expect(got).toMatchObject({ status: 200 });
      expect(head).toEqual({ ...got, length: 0 });
      expect(await overHttp2("HEAD", path)).toMatchObject({ ":status": 200, bytes: 0 });
    });
  }

  test("HEAD is refused like GET, without a body, and the connection stays open", async () => {
    const head = "HEAD /v1/models/nobody HTTP/1.1\r\nhost: x\r\n";
    const text = await raw(`${head}authorization: Bearer ${gateway.apiKey}\r\n\r\n${head}connection: close\r\n\r\n`);
    expect(text.match(/^HTTP\/1\.1 \d+/gm)).toEqual(["HTTP/1.1 404", "HTTP/1.1 401"]);
    expect(text).not.toContain("{");
  });

  test("HEAD without a GET is refused with the allowed methods, and other methods beside a GET with both", async () => {
    const headers = { authorization: `Bearer ${gateway.apiKey}` };
    const told = async (method: string, path: string) => {
      const response = await fetch(gateway.rootUrl + path, { method, headers });
      return [response.status, response.headers.get("allow")];
    };
    expect(await told("HEAD", "/v1/messages")).toEqual([405, "POST"]);
    expect(await told("PUT", "/v1/models")).toEqual([405, "GET, HEAD"]);
    expect(await told("PUT", "/v1/responses/resp_1")).toEqual([405, "GET, HEAD, DELETE"]);
  });

  test("an unknown path is refused as it was sent", async () => {
    const response = await fetch(`${gateway.rootUrl}//v1/v1/nothing/`);
    expect(response.status).toBe(404);
    expect(await response.text()).toContain("GET //v1/v1/nothing/");
  });
});

describe("a WebSocket for responses is refused with the status that sends clients to HTTP:", () => {
  const key = "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  const upgrading = (path: string, upgrade = "websocket", more = "", version = "1.1", method = "GET") =>
    `${method} ${path} HTTP/${version}\r\nhost: x\r\nconnection: keep-alive, Upgrade\r\nupgrade: ${upgrade}\r\n${key}${more}\r\n`;
  const last = "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

  for (const path of ["/v1/responses", "/responses", "/api/v1/responses", "/v1/responses/", "//v1/responses?x=1"]) {
    test(`at ${path}, with and without a key`, async () => {
      for (const more of ["", `authorization: Bearer ${gateway.apiKey}\r\n`, "origin: https://app.example.com\r\n"]) {
        const text = await raw(upgrading(path, "WebSocket", more));
        expect(text).toMatch(/^HTTP\/1\.1 426 Upgrade Required\r\n/);
        expect(text).not.toMatch(/\r\nupgrade:/i);
        expect(text).toContain("not served over a WebSocket");
      }
    });
  }

  test("among other protocols", async () => {
    expect(await raw(upgrading("/v1/responses", "h2c, websocket"))).toMatch(/^HTTP\/1\.1 426 /);
  });

  test("and its client's frames are not read as a request", async () => {
    const frame = Buffer.from([0x81, 0x85, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const text = await raw(upgrading("/v1/responses"), frame);
    expect(text.match(/^HTTP\/1\.1 \d+/gm)).toEqual(["HTTP/1.1 426"]);
  });

  const ignored: Readonly<Record<string, readonly [request: string, status: number]>> = {
    "one elsewhere": [upgrading("/v1/chat/completions"), 405],
    "one at no path": [upgrading("/v1/realtime"), 404],
    "one in HTTP/1.0": [upgrading("/v1/responses", "websocket", "", "1.0"), 405],
    "h2c at the same path": [upgrading("/v1/responses", "h2c", "http2-settings: AAMAAABk\r\n"), 405],
    "h2c of a probe": [upgrading("/healthz", "h2c", "http2-settings: AAMAAABk\r\n"), 200],
    "h2c of a Java client's first call": [
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\nauthorization: Bearer KEY\r\ncontent-type: application/json\r\ncontent-length: ${chat.length}\r\n\r\n${chat}`,
      200,
    ],
    "TLS of a probe": [upgrading("/healthz", "TLS/1.2"), 200],
    "one of a plain POST": [
      `POST /v1/responses HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nauthorization: Bearer KEY\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`,
      400,
    ],
  };
  for (const [name, [request, status]] of Object.entries(ignored)) {
    test(`but ${name} is ignored`, async () => {
      const text = await raw(request.replace("KEY", gateway.apiKey), last);
      expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(text).not.toMatch(/\r\nupgrade:/i);
    });
  }

  test("a plain GET is refused with the allowed methods", async () => {
    const response = await fetch(`${gateway.rootUrl}/v1/responses`);
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

/** Sends these bytes, and more once an answer begins, and resolves with all that comes until the connection ends. */
async function raw(bytes: string | Buffer, more?: string | Buffer): Promise<string> {
  const socket = connect(gateway.port, "127.0.0.1");
  if (more !== undefined) socket.once("data", () => socket.write(more));
  socket.write(bytes);
  let text = "";
  for await (const piece of socket) text += piece;
  return text;
}

async function overHttp2(method: string, path: string, body?: string) {
  const session = http2.connect(gateway.rootUrl);
  const authorization = `Bearer ${gateway.apiKey}`;
  const fields = { ":method": method, ":path": path, authorization, "content-type": "application/json" };
  const stream = session.request(fields, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  const [head] = (await once(stream, "response")) as [http2.IncomingHttpHeaders];
  let bytes = 0;
  for await (const piece of stream) bytes += (piece as Buffer).length;
  await new Promise<void>((resolve) => session.close(resolve));
  return { ...head, bytes };
}
