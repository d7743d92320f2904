/** What a node learns of changes by other nodes, from what the database tells when it is asked. */
import { expect, test } from "vitest";
import type { Session } from "../../../../src/storage/engines/postgres/session.ts";
import { createServerClock, startWatcher } from "../../../../src/storage/engines/postgres/watcher.ts";
import { eventually } from "../../../support/eventually.ts";

test("more changes than are named at once are changes of all, also where the last of them is named in part", async () => {
  const changes = 21;
  const names = Array.from({ length: changes }, (_, i) =>
    Array.from({ length: 96 }, (_, n) => [i + 1, `key_${i}_${n}`]),
  ).flat();
  let number = 0;
  const session: Session = {
    async query(sql) {
      const most = Number(/LIMIT (\d+)/.exec(sql)?.[1]);
      expect(names.length).toBeGreaterThan(most);
      expect(names[most - 1]?.[0]).toBe(changes);
      return [{ number, nodes: 1, recalls: [], names: number === 0 ? [] : names.slice(0, most) }];
    },
    listen: undefined,
    isOpen: () => true,
    close: () => {},
  };
  const watcher = await startWatcher({ connect: async () => session, onError: () => {} });
  const before = watcher.version();
  expect(watcher.changedSince(before, "acc_1", "key_20_95")).toBe(false);
  number = changes;
  await eventually(() => expect(watcher.version()).not.toBe(before));
  expect(watcher.changedSince(before, "acc_1", "key_20_95")).toBe(true);
  watcher.close();
});

test("a server that took over may have lost changes and counted as many others: what was read before counts no longer", async () => {
  let connections = 0;
  let isBroken = false;
  const connect = async (): Promise<Session> => {
    const number = ++connections;
    return {
      async query() {
        if (isBroken && number === 1) throw new Error("the connection broke");
        // The same count, of other changes.
        return [{ number: 7, nodes: 1, recalls: [], names: [] }];
      },
      listen: undefined,
      isOpen: () => true,
      close: () => {},
    };
  };
  const watcher = await startWatcher({ connect, onError: () => {} });
  const before = watcher.version();
  expect(watcher.changedSince(before, "acc_1", "key_1")).toBe(false);
  isBroken = true;
  await eventually(() => expect(connections).toBe(2));
  await eventually(() => expect(watcher.version()).not.toBe(before));
  expect(watcher.changedSince(before, "acc_1", "key_1")).toBe(true);
  // What is read from then on is known again.
  const after = watcher.version();
  expect(watcher.changedSince(after, "acc_1", "key_1")).toBe(false);
  watcher.close();
});

test("the time is this machine's, unless that is far from the server's, as far as the way there lets one know", () => {
  let [own, passed] = [1_000_000, 0];
  const clock = createServerClock(
    () => own,
    () => passed,
  );
  const tell = (server: number, wayMs = 0) => {
    const told = clock.asked();
    passed += wayMs;
    told(server);
    return clock.now() - own;
  };
  expect(tell(own + 1900)).toBe(0);
  expect(tell(own - 60_000)).toBe(-60_000);
  // It does not waver with the time that answers take.
  expect(tell(own - 60_090, 300)).toBe(-60_000);
  expect(tell(own - 61_000)).toBe(-61_000);
  expect(tell(own + 500)).toBe(0);
  // An answer that took a minute may be of its beginning.
  expect(tell(own - 31_000, 60_000)).toBe(0);
  own += 10 * 60_000;
  expect(tell(own - 10 * 60_000)).toBe(-10 * 60_000);
});
