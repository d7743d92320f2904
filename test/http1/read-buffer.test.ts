/** Connections are read into memory that they share; nothing is lost, and nothing is kept in that memory. */
import { EventEmitter, once } from "node:events";
import { type AddressInfo, connect, createServer, Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { readIntoSharedMemory } from "../../src/http1/read-buffer.ts";
import { IncomingBody } from "../../src/http1/server/incoming-body.ts";
import { discardInTurns, readInTurns } from "../../src/runtime/read-turns.ts";
import { type Asked, startServedPort } from "../support/clients/served-port.ts";

/** Both ends of a connection: the one that was taken, and the client's. */
async function connected(): Promise<readonly [Socket, Socket]> {
  const server = createServer();
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(() => void client.destroy());
  const [taken] = (await once(server, "connection")) as [Socket];
  onTestFinished(() => void taken.destroy());
  return [taken, client];
}

describe("an accepted connection", () => {
  test("is read into shared memory, and emits `data` again once it was given back", async () => {
    const [taken, client] = await connected();
    const heard: string[] = [];
    const memories = new Set<Buffer>();
    let wake = () => {};
    const next = () => new Promise<void>((resolve) => (wake = resolve));
    const tell = (text: string) => {
      heard.push(text);
      wake();
    };
    taken.on("data", (bytes) => tell(`data ${bytes}`));
    const leave = readIntoSharedMemory(taken, (memory, length) => {
      memories.add(memory);
      tell(`read ${memory.toString("latin1", 0, length)}`);
    });
    expect(leave, "this Node has no means for it").toBeTypeOf("function");
    for (const text of ["one", "two"]) {
      client.write(text);
      await next();
    }
    leave?.();
    client.write("three");
    await next();
    client.end("four");
    await once(taken, "end");
    expect(heard).toEqual(["read one", "read two", "data three", "data four"]);
    expect([...memories].map(({ length }) => length)).toEqual([65_536]);
  });

  test("is paused at once, and read on from there", async () => {
    const [taken, client] = await connected();
    const heard: string[] = [];
    readIntoSharedMemory(taken, (memory, length) => {
      heard.push(memory.toString("latin1", 0, length));
      taken.pause();
      taken.emit("heard");
    });
    taken.resume();
    client.write("x".repeat(100_000));
    await once(taken, "heard");
    expect(heard.length).toBe(1);
    while (heard.join("").length < 100_000) {
      taken.resume();
      await once(taken, "heard");
    }
    expect(heard.join("")).toBe("x".repeat(100_000));
  });

  test("that is gone cannot be read so", () => {
    expect(readIntoSharedMemory(new Socket(), () => {})).toBeUndefined();
  });
});

test.each([
  ["which Node can be told", () => {}],
  [
    "and as ever where it cannot",
    (socket: Socket) => void Object.assign(handleOf(socket), { useUserBuffer: undefined }),
  ],
])("requests are read whole, %s", async (_, prepare) => {
  const { client, next } = await startServedPort(undefined, true, prepare);
  const { socket, until } = client();
  const long = Buffer.from(Array.from({ length: 300_000 }, (_, i) => 32 + (i % 90)));
  const head = (length: number) => `POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: ${length}\r\n\r\n`;
  socket.write(`${head(5)}short`);
  const first = await next();
  socket.write(Buffer.concat([Buffer.from(head(long.length)), long, Buffer.from(`${head(4)}next`)]));
  reply(first, "one");
  const second = await next();
  const body = await new Promise<Buffer | undefined>((resolve) =>
    (second.request.body as IncomingBody).take(resolve, () => {}),
  );
  // What came later does not stand in the place of what came before.
  expect(String(first.request.body)).toBe("short");
  expect(body?.equals(long)).toBe(true);
  reply(second, "two");
  const third = await next();
  expect(String(third.request.body)).toBe("next");
  reply(third, "three");
  expect(await until("three")).toContain("two");
});

function reply({ answer }: Asked, text: string): void {
  answer.writeHead(200, { "content-length": String(text.length) }).end(Buffer.from(text));
}

function handleOf(socket: Socket): object {
  return (socket as unknown as { readonly _handle: object })._handle;
}

test("of long bodies no more is taken in a turn than a bound, however many come at once", async () => {
  const piece = 65_536;
  const stopped: string[] = [];
  const goneOn: string[] = [];
  for (let i = 0; i < 40; i++) {
    readInTurns({ pause: () => stopped.push(`${i}`) }, piece, () => goneOn.push(`${i}`));
  }
  // Two megabytes are thirty-two pieces.
  expect(stopped).toEqual(["31", "32", "33", "34", "35", "36", "37", "38", "39"]);
  expect(goneOn).toEqual([]);
  await new Promise(setImmediate);
  expect(goneOn).toEqual(stopped);
  readInTurns({ pause: () => stopped.push("again") }, piece, () => {});
  expect(stopped).toHaveLength(9);
});

test("of what is discarded, too, no more is read in a turn than a bound", async () => {
  const bytes = Buffer.alloc(65_536);
  const paused = new Set<number>();
  const arrive = Array.from({ length: 40 }, (_, i) => {
    const stream = new EventEmitter();
    discardInTurns(Object.assign(stream, { pause: () => paused.add(i), resume: () => paused.delete(i) }));
    return () => stream.emit("data", bytes);
  });
  await new Promise(setImmediate);
  for (const emit of arrive) emit();
  expect([...paused]).toEqual([31, 32, 33, 34, 35, 36, 37, 38, 39]);
  await new Promise(setImmediate);
  expect(paused.size).toBe(0);
});

test("a long body that is dropped is read in turns, and to its end", async () => {
  const bytes = Buffer.alloc(1_048_576);
  let isPaused = false;
  const pause = () => {
    isPaused = true;
  };
  const resume = () => {
    isPaused = false;
  };
  const body = new IncomingBody(4 * bytes.length, { isPaused: () => isPaused, pause, resume } as unknown as Socket);
  body.drop(1_000);
  await new Promise(setImmediate);
  for (let i = 0; i < 4; i++) {
    body.add(bytes);
    // Two megabytes are the bound; nothing is left to pause for at the end.
    expect(isPaused).toBe(i === 1 || i === 2);
    if (i === 2) await new Promise(setImmediate);
    if (i === 2) expect(isPaused).toBe(false);
  }
  expect(body.isWhole).toBe(true);
});
