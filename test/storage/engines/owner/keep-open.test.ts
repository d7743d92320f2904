/** The locks of the names under which a worker's books are tried to be opened: they stay as few as the names that may have something. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createChannel } from "../../../../src/runtime/ipc/channel.ts";
import { createLink, type Link } from "../../../../src/runtime/ipc/link.ts";
import type { BooksQuestions } from "../../../../src/storage/engines/owner/contract.ts";
import { keepOpen } from "../../../../src/storage/engines/owner/keep-open.ts";
import { eventually } from "../../../support/eventually.ts";

let link: Link;
let sockets: Socket[];
let closeServer: () => void;
/** The names whose locks are kept, and those that were asked to be opened. */
let kept: Set<string>;
let asked: string[];
/** Throws what an owner tells of books that it cannot open. */
let open: () => void;

beforeEach(() => {
  [link, sockets, kept, asked] = [createLink(), [], new Set(), []];
});

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  closeServer();
});

/** Connects the link to another owner. */
async function nextOwner(): Promise<Socket> {
  const server = createServer().listen(0, "127.0.0.1");
  closeServer = () => void server.close();
  await once(server, "listening");
  const accepted = once(server, "connection");
  const near = connect((server.address() as { port: number }).port, "127.0.0.1");
  await once(near, "connect");
  const [far] = (await accepted) as [Socket];
  server.close();
  sockets.push(near, far);
  createChannel(far).answer<Pick<BooksQuestions, "books.open">>({
    "books.open": ({ node }) => {
      asked.push(node);
      open();
    },
  });
  link.connect(near);
  return far;
}

const keep = () =>
  keepOpen({
    ...{ link, node: "nod_first", hasJournal: true, recall: () => ({ records: [], leases: [] }), onError: () => {} },
    keepLock(node) {
      kept.add(node);
      return () => void kept.delete(node);
    },
  });

test("an owner that cannot open books, as on a full disk, leaves no lock of the names that it has tried", async () => {
  open = () => {
    throw new Error("database or disk is full");
  };
  const books = keep();
  await nextOwner();
  await eventually(() => expect(asked.length).toBeGreaterThanOrEqual(3));
  await eventually(() => expect([...kept]).toEqual([]));
  open = () => {};
  await eventually(() => expect(books.isOpen()).toBe(true));
  expect([...kept]).toEqual([asked.at(-1)]);
  books.end();
});

test("the lock of a name stays where its owner died before it had answered, until the next one has all", async () => {
  open = () => {};
  const books = keep();
  await nextOwner();
  await eventually(() => expect(books.isOpen()).toBe(true));
  let dying: Socket | undefined;
  open = () => dying?.destroy();
  for (let owners = 0; owners < 3; owners++) {
    const before = asked.length;
    dying = await nextOwner();
    await eventually(() => expect(asked.length).toBeGreaterThan(before));
    await eventually(() => expect(link.isClosed()).toBe(true));
    expect([...kept].sort()).toEqual(asked.slice(1).sort());
  }
  open = () => {};
  await nextOwner();
  await eventually(() => expect(books.isOpen()).toBe(true));
  expect([...kept]).toEqual([asked.at(-1)]);
  books.end();
});
