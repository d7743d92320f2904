/**
 * A long body is read only when it is taken, and whole however it comes. Its connection then serves the next request, or is
 * closed.
 */
import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { IncomingBody } from "../../src/http1/server/incoming-body.ts";
import { maxBufferedRequest } from "../../src/http1/server/request.ts";
import { type Asked, startServedPort } from "../support/clients/served-port.ts";
import { heldMemory } from "../support/run/garbage.ts";

const body = Buffer.from(Array.from({ length: 300_000 }, (_, i) => 32 + (i % 90)));
const headOf = (length: number) => `POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: ${length}\r\n\r\n`;
const coming = ({ request }: Asked) => request.body as IncomingBody;
const taken = (asked: Asked) => new Promise<Buffer | undefined>((resolve) => coming(asked).take(resolve, () => {}));

function reply({ answer }: Asked, text: string): void {
  answer.writeHead(200, { "content-length": String(text.length) }).end(Buffer.from(text));
}

describe("a long body", () => {
  test.each([
    ["at once", body.length],
    ["a piece after another", 10_000],
    ["in small pieces", 999],
  ])("is read whole when it comes %s, and what comes behind it is the next request", async (_, pieceBytes) => {
    const { client, next } = await startServedPort();
    const { socket, until } = client();
    const all = Buffer.concat([Buffer.from(headOf(body.length)), body, Buffer.from(`${headOf(4)}next`)]);
    const sending = (async () => {
      for (let at = 0; at < all.length; at += pieceBytes)
        await new Promise((resolve) => socket.write(all.subarray(at, at + pieceBytes), resolve));
    })();
    const first = await next();
    expect((await taken(first))?.equals(body)).toBe(true);
    await sending;
    reply(first, "one");
    const second = await next();
    expect(String(second.request.body)).toBe("next");
    reply(second, "two");
    expect(await until("two")).toContain("one");
  });

  test("that is too long to be allocated before it has come is read whole, too", async () => {
    const { client, next } = await startServedPort();
    const { socket } = client();
    const long = Buffer.concat([body, body, body, body]);
    socket.write(headOf(long.length));
    socket.write(long);
    expect((await taken(await next()))?.equals(long)).toBe(true);
  });

  test("is copied as it comes, once it is taken: the memory of its pieces may be reused", () => {
    const asked = new IncomingBody(100_000, { isPaused: () => false, pause: () => {} } as unknown as Socket);
    const before = Buffer.alloc(20_000, "a");
    asked.add(before);
    expect(asked.isCopying).toBe(false);
    let whole: Buffer | undefined;
    asked.take(
      (bytes) => {
        whole = bytes;
      },
      () => {},
    );
    expect(asked.isCopying).toBe(true);
    const used = Buffer.alloc(50_000);
    expect(["b", "c"].map((letter) => asked.add(used.fill(letter)))).toEqual([50_000, 30_000]);
    used.fill("d");
    const letters = `${"a".repeat(20_000)}${"b".repeat(50_000)}${"c".repeat(30_000)}`;
    expect(whole?.equals(Buffer.from(letters))).toBe(true);
  });

  test("frees the pieces that it has copied, or dropped, but none of what others share with it", () => {
    const socket = { isPaused: () => false, pause: () => {} } as unknown as Socket;
    const piece = (length: number) => Buffer.alloc(length, "a");
    const [copied, dropped, shared] = [piece(20_000), piece(20_000), piece(40_000)];
    const asked = new IncomingBody(60_000, socket);
    asked.add(copied);
    asked.add(shared.subarray(20_000));
    asked.take(
      (bytes) => expect(bytes?.equals(piece(60_000))).toBe(true),
      () => {},
    );
    asked.add(piece(20_000));
    const refused = new IncomingBody(60_000, socket);
    refused.add(dropped);
    refused.drop(1_000);
    expect([copied, dropped, shared].map(({ length }) => length)).toEqual([0, 0, 40_000]);
    expect.assertions(2);
  });

  test("that is dropped once its memory is there, or is left by its client, frees that memory", () => {
    const socket = { isPaused: () => false, pause: () => {} } as unknown as Socket;
    for (const end of [(body: IncomingBody) => body.drop(1_000), (body: IncomingBody) => body.leave()]) {
      const asked = new IncomingBody(100_000, socket);
      const count = () => {};
      asked.take(() => {}, count);
      const before = process.memoryUsage().arrayBuffers;
      asked.add(Buffer.alloc(100));
      end(asked);
      expect(process.memoryUsage().arrayBuffers).toBeLessThan(before);
    }
  });

  test("has at least one byte more than a request that is buffered", async () => {
    const { client, next } = await startServedPort();
    const { socket } = client();
    // Its head says five digits either way.
    const most = maxBufferedRequest - headOf(maxBufferedRequest).length;
    socket.write(headOf(most) + "x".repeat(most) + headOf(most + 1) + "y".repeat(most + 1));
    const short = await next();
    expect((short.request.body as Buffer).length).toBe(most);
    reply(short, "short");
    expect((await taken(await next()))?.length).toBe(most + 1);
  });

  test("is not read on until it is taken", async () => {
    const { client, next } = await startServedPort();
    const { socket } = client();
    const large = Buffer.alloc(50_000_000, "x");
    socket.write(headOf(large.length));
    socket.write(large);
    const asked = await next();
    const { socket: served } = asked.request;
    for (let i = 0; i < 100; i++) await new Promise(setImmediate);
    // One read, and what a socket reads ahead.
    expect(served.bytesRead).toBeLessThanOrEqual(3 * maxBufferedRequest);
    expect((await taken(asked))?.equals(large)).toBe(true);
  });

  test("is dropped if its request is refused, and the next request is served", async () => {
    const { client, next } = await startServedPort();
    const { socket, until } = client();
    socket.write(Buffer.concat([Buffer.from(headOf(body.length)), body.subarray(0, 1000)]));
    const refused = await next();
    coming(refused).drop(5_000);
    reply(refused, "refused");
    await until("refused");
    socket.write(Buffer.concat([body.subarray(1000), Buffer.from(`${headOf(4)}next`)]));
    const second = await next();
    expect(String(second.request.body)).toBe("next");
  });

  test("that is dropped to its end leaves its connection idle from then on", async () => {
    const { client, next, watched } = await startServedPort();
    const { socket, until } = client();
    socket.write(headOf(body.length));
    const refused = await next();
    coming(refused).drop(500_000);
    reply(refused, "refused");
    await until("refused");
    const [connection] = watched;
    const longest = 67_000;
    expect(connection?.deadline).toBeGreaterThan(performance.now() + longest);
    socket.write(body);
    const begun = performance.now();
    while (connection?.deadline === undefined || connection.deadline > performance.now() + longest) {
      await new Promise(setImmediate);
    }
    expect(connection.deadline).toBeGreaterThanOrEqual(begun + 66_000);
  });

  test("whose rest does not come in time after its answer has its connection closed, read or unread", async () => {
    const { client, next, watched } = await startServedPort();
    const { socket } = client();
    socket.write(`${headOf(body.length)}begin`);
    const refused = await next();
    const [connection] = watched;
    expect(connection?.deadline).toBe(Number.POSITIVE_INFINITY);
    const before = performance.now();
    coming(refused).drop(5_000);
    // Some of it is more than the system holds for a client that does not read.
    socket.pause();
    refused.answer.writeHead(200, { "content-length": "20000000" }).end(Buffer.alloc(20_000_000, "x"));
    const left = (connection?.deadline ?? 0) - before;
    expect([left >= 5_000, left < 10_000]).toEqual([true, true]);
    expect(refused.request.socket.writableLength).toBeGreaterThan(0);
    connection?.onDeadline();
    expect(refused.request.socket.destroyed).toBe(true);
    socket.resume();
    await once(socket, "close");
  });

  test("is in memory once", async () => {
    const held = async () => (await heldMemory()).arrayBuffers;
    const [pieces, pieceBytes] = [40, 1_000_000];
    const asked = new IncomingBody(pieces * pieceBytes, {
      isPaused: () => false,
      pause: () => {},
    } as unknown as Socket);
    let whole: Buffer | undefined;
    const before = await held();
    asked.take(
      (bytes) => {
        whole = bytes;
      },
      () => {},
    );
    for (let i = 0; i < pieces; i++) asked.add(Buffer.alloc(pieceBytes, "x"));
    expect((await held()) - before).toBeLessThan(1.5 * pieces * pieceBytes);
    expect([whole?.length, asked.isWhole]).toEqual([pieces * pieceBytes, true]);
  });

  test.each([
    ["ends its side", (socket: Socket) => void socket.end()],
    ["is gone", (socket: Socket) => void socket.resetAndDestroy()],
  ])("whose client %s in its middle fails, after its answer", async (_, leave) => {
    const { client, next } = await startServedPort();
    const { socket } = client();
    socket.write(`${headOf(body.length)}begin`);
    const asked = await next();
    const heard: string[] = [];
    asked.answer.on("close", () => heard.push("close"));
    const told = taken(asked).then((bytes) => heard.push(`body ${bytes}`));
    leave(socket);
    await told;
    expect(heard).toEqual(["close", "body undefined"]);
  });

  test("whose client has left before it is taken fails then", async () => {
    const { client, next } = await startServedPort();
    const { socket } = client();
    socket.write(`${headOf(body.length)}begin`);
    const asked = await next();
    socket.destroy();
    expect(await taken(asked)).toBeUndefined();
  });

  test("still comes whole while the port closes, and its answer is the last", async () => {
    const { client, next, connections } = await startServedPort();
    const { socket, until } = client();
    socket.write(`${headOf(body.length)}`);
    const asked = await next();
    const whole = taken(asked);
    connections[0]?.close();
    socket.write(body);
    expect((await whole)?.length).toBe(body.length);
    reply(asked, "last");
    expect(await until("last")).toContain("connection: close");
    await once(socket, "close");
  });

  test("whose end ends its connection leaves the request behind it unserved", async () => {
    const { client, next, connections } = await startServedPort();
    const { socket, until } = client();
    socket.write(headOf(body.length));
    const asked = await next();
    coming(asked).take(
      () => reply(asked, "last"),
      () => {},
    );
    connections[0]?.close();
    socket.write(Buffer.concat([body, Buffer.from(`${headOf(4)}next`)]));
    await until("last");
    await once(socket, "close");
    const served = await Promise.race([next(), new Promise((resolve) => setTimeout(resolve, 100, "nothing"))]);
    expect(served).toBe("nothing");
  });

  test("that is not served here is handed over with every byte of it", async () => {
    const handed = Promise.withResolvers<Buffer[]>();
    const { client } = await startServedPort((served) => handed.resolve(served.toArray()), false);
    const { socket } = client();
    const all = Buffer.concat([Buffer.from(headOf(body.length)), body]);
    socket.end(all);
    expect(Buffer.concat(await handed.promise).equals(all)).toBe(true);
  });
});
