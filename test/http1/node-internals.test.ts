/** What the gateway relies on inside Node is there; where it is missing, the plain way is taken, or the start fails. */
import { once } from "node:events";
import { createServer, ServerResponse } from "node:http";
import { type AddressInfo, connect, Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  flattenHead,
  isLastAnswer,
  readIntoMemory,
  takeConnectionListener,
  writesAtOnce,
} from "../../src/http1/node-internals.ts";

async function connected(): Promise<Socket> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(() => void server.close());
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

describe("the listener for connections of an HTTP server", () => {
  test("is taken off it, and serves those that it is given", async () => {
    const server = createServer((_, res) => res.end("served"));
    const serve = takeConnectionListener(server);
    expect(server.listenerCount("connection")).toBe(0);
    server.on("connection", (socket: Socket) => serve(socket));
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const reply = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect(await reply.text()).toBe("served");
  });

  test("is one: a server that has none, or several, is refused", () => {
    const server = createServer();
    server.on("connection", () => {});
    expect(() => takeConnectionListener(server)).toThrow("this version of Node");
    expect(() => takeConnectionListener(createServer().removeAllListeners("connection"))).toThrow(
      "this version of Node",
    );
  });
});

describe("the head of a response", () => {
  test("stands where it is flattened", () => {
    const response = new ServerResponse({ method: "GET", httpVersionMajor: 1, httpVersionMinor: 1 } as never);
    response.writeHead(200, { "x-one": "1" });
    expect((response as unknown as { _header: unknown })._header).toContain("x-one: 1\r\n");
    expect(() => flattenHead(response)).not.toThrow();
  });

  test("is left alone where a Node keeps it in another way", () => {
    for (const response of [{}, { _header: null }, { _header: Buffer.from("x") }])
      expect(() => flattenHead(response)).not.toThrow();
  });
});

describe("the last answer of a connection", () => {
  test("is one whose head says so", () => {
    const answer = (headers: Record<string, string>) => {
      const response = new ServerResponse({ method: "GET", httpVersionMajor: 1, httpVersionMinor: 1 } as never);
      response.writeHead(200, headers);
      return isLastAnswer(response);
    };
    expect(answer({ connection: "close" })).toBe(true);
    expect(answer({ connection: "keep-alive", "keep-alive": "timeout=5" })).toBe(false);
  });

  test("is none before its head is written, nor where a Node tells it in another way", () => {
    const response = new ServerResponse({ method: "GET", httpVersionMajor: 1, httpVersionMinor: 1 } as never);
    expect(isLastAnswer(response)).toBe(false);
    expect(isLastAnswer({ headersSent: true })).toBe(false);
  });
});

describe("a socket", () => {
  test("writes at once where nothing waits, nothing is corked, and nothing encrypted", async () => {
    const socket = await connected();
    expect(writesAtOnce(socket)).toBe(true);
    socket.cork();
    expect(writesAtOnce(socket)).toBe(false);
    socket.uncork();
    socket.write(Buffer.alloc(50_000_000));
    expect(writesAtOnce(socket)).toBe(false);
    expect(writesAtOnce(new TLSSocket(new Socket()))).toBe(false);
  });

  test("that has no handle, or one without shared memory, is not read into memory", async () => {
    const read = (socket: Socket) =>
      readIntoMemory(
        socket,
        Buffer.alloc(10),
        () => {},
        () => Buffer.alloc(0),
      );
    expect(read(new Socket())).toBeUndefined();
    const socket = await connected();
    Object.assign((socket as unknown as { readonly _handle: object })._handle, { useUserBuffer: undefined });
    expect(read(socket)).toBeUndefined();
  });
});
