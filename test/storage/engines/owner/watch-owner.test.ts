/** What a worker knows of its database while its owner dies and another takes its place. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Channel } from "../../../../src/runtime/ipc/channel.ts";
import type { BooksQuestions, DatabaseState } from "../../../../src/storage/engines/owner/contract.ts";
import { type WatchedOwner, watchOwner } from "../../../../src/storage/engines/owner/watch-owner.ts";
import { eventually } from "../../../support/eventually.ts";
import { createLinked, type Linked } from "../../../support/workers/channels.ts";

let linked: Linked;
let owner: WatchedOwner;

/** Answers as an owner does of which `version` is the count of changes that it has seen. */
const ownerOf = (version: number) => (channel: Channel) =>
  channel.answer<Pick<BooksQuestions, "database.watch" | "database.flush">>({
    "database.watch": (): DatabaseState => ({ version, trouble: null }),
    "database.flush"() {},
  });

beforeEach(async () => {
  linked = createLinked();
  await linked.connect(ownerOf(3));
  owner = await watchOwner(linked.link);
});

afterEach(() => linked.kill());

test("while there is an owner nothing has changed until it says so", () => {
  expect(owner.version()).toBe(owner.version());
});

test("what another process changes between the last look and the next owner's start is seen as a change", async () => {
  await linked.kill();
  await eventually(() => expect(linked.link.isClosed()).toBe(true));
  // Whoever looks now reads everything anew, and remembers that as of this version.
  const looked = owner.version();
  // The next owner opens the database behind the change, and counts from there.
  await linked.connect(ownerOf(0));
  // Answered behind what it has told of the database.
  await owner.flushed();
  const now = owner.version();
  expect(now).toBe(owner.version());
  expect(now).not.toBe(looked);
});
