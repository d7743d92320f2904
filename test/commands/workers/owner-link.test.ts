/** How a worker is led to its owner, over real sockets: to one after another, however quickly. */
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { LinkQuestions } from "../../../src/commands/workers/contract.ts";
import { createOwnerLink, type OwnerLink } from "../../../src/commands/workers/owner-link.ts";
import { createChannel } from "../../../src/runtime/ipc/channel.ts";
import { temporaryFolder } from "../../support/command.ts";
import { eventually } from "../../support/eventually.ts";

interface TestOwner {
  readonly path: string;
  /** How often a worker has joined it. */
  joined: number;
  readonly sockets: Set<Socket>;
  readonly server: Server;
}

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let owners: TestOwner[];
let owned: OwnerLink;
let lost: number;

async function startOwner(name: string): Promise<TestOwner> {
  const owner: TestOwner = { path: join(folder.path, name), joined: 0, sockets: new Set(), server: createServer() };
  owner.server.on("connection", (socket) => {
    owner.sockets.add(socket);
    createChannel(socket).answer<Pick<LinkQuestions, "worker.join">>({ "worker.join": () => void owner.joined++ });
  });
  await new Promise<void>((resolve) => owner.server.listen(owner.path, resolve));
  owners.push(owner);
  return owner;
}

beforeEach(async () => {
  folder = await temporaryFolder();
  [owners, lost] = [[], 0];
  owned = createOwnerLink({ number: 1, generation: 1 });
  owned.onLost(() => void lost++);
});

afterEach(async () => {
  for (const { server, sockets } of owners) {
    server.close();
    // The last one: nobody is led away from it any more.
    for (const socket of sockets) socket.destroy();
  }
  await folder.remove();
});

test("a worker that is led to two owners at once has left the first before it goes on, and ends at the last", async () => {
  const [first, second, third] = [await startOwner("1"), await startOwner("2"), await startOwner("3")];
  await owned.lead(first.path);
  /** What happens, in its order. */
  const events: string[] = [];
  const left = Promise.withResolvers<void>();
  owned.link.onLeave(async () => {
    events.push("leaves");
    await left.promise;
    events.push("has left");
  });
  owned.link.onConnect(() => void events.push("connected"));
  const leading = [owned.lead(second.path), owned.lead(third.path)];
  await new Promise((resolve) => setImmediate(resolve));
  expect(events).toEqual(["leaves"]);
  expect(owned.link.isClosed()).toBe(false);
  left.resolve();
  await Promise.all(leading);
  expect(events).toEqual(["leaves", "has left", "connected"]);
  await eventually(() => expect([first.joined, second.joined, third.joined]).toEqual([1, 0, 1]));
  expect(owned.link.isClosed()).toBe(false);
  expect(lost).toBe(0);
  // It is there already.
  await owned.lead(third.path);
  expect(events).toHaveLength(3);
});
