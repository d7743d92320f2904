/** What is recorded at the end of a turn comes before what is sent, whoever asked first. */
import { expect, test } from "vitest";
import { recordAtTurnEnd, sendAtTurnEnd } from "../../src/runtime/turn-end.ts";

const turnOver = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

test("a record is written before a request goes out that was made before it", async () => {
  const done: string[] = [];
  sendAtTurnEnd(() => done.push("send"));
  recordAtTurnEnd(() => done.push("record"));
  await turnOver();
  expect(done).toEqual(["record", "send"]);
});

test("what waited for a record may record and send in the same turn, in that order", async () => {
  const done: string[] = [];
  const written = Promise.withResolvers<void>();
  written.promise.then(() => {
    done.push("goes on");
    sendAtTurnEnd(() => done.push("its send"));
    recordAtTurnEnd(() => done.push("its record"));
  });
  sendAtTurnEnd(() => done.push("send"));
  recordAtTurnEnd(() => written.resolve());
  await turnOver();
  expect(done).toEqual(["goes on", "its record", "send", "its send"]);
});

test("what is sent while requests go out waits for the next turn, and for what is recorded until then", async () => {
  const done: string[] = [];
  sendAtTurnEnd(() => {
    done.push("send");
    sendAtTurnEnd(() => done.push("next send"));
    recordAtTurnEnd(() => done.push("next record"));
  });
  await turnOver();
  expect(done).toEqual(["send", "next record", "next send"]);
});

test("a record that has a record written comes before all that is sent then", async () => {
  const done: string[] = [];
  recordAtTurnEnd(() => recordAtTurnEnd(() => done.push("second")));
  sendAtTurnEnd(() => done.push("send"));
  await turnOver();
  expect(done).toEqual(["second", "send"]);
});

test("what throws keeps no other from its turn, and is an uncaught exception", async () => {
  const others = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  const thrown = new Promise((resolve) => process.once("uncaughtException", resolve));
  const done: string[] = [];
  const error = new Error("thrown at the end of a turn");
  try {
    recordAtTurnEnd(() => {
      throw error;
    });
    sendAtTurnEnd(() => done.push("send"));
    expect(await thrown).toBe(error);
    await turnOver();
    expect(done).toEqual(["send"]);
  } finally {
    for (const one of others) process.on("uncaughtException", one);
  }
});
