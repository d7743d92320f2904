/** A channel between two processes: what is asked is answered, in pieces of any size, until one of them is gone. */
import { Duplex, PassThrough } from "node:stream";
import { afterEach, describe, expect, test } from "vitest";
import { createChannel } from "../../src/runtime/ipc/channel.ts";
import { connectEnds, type Ends } from "../support/workers/channels.ts";

type Numbers = {
  readonly double: readonly [asked: number, answer: number];
  readonly note: readonly [asked: string, answer: null];
  readonly fail: readonly [asked: null, answer: null];
  readonly never: readonly [asked: null, answer: null];
};

let ends: Ends;
afterEach(() => ends?.kill());

describe("a channel", () => {
  test("answers what is asked, and tells in the order in which it was told", async () => {
    ends = await connectEnds();
    const noted: string[] = [];
    ends.parent.answer<Pick<Numbers, "double" | "note">>({
      double: async (number) => 2 * number,
      note(text) {
        noted.push(text);
        return null;
      },
    });
    const { ask, tell } = ends.child.by<Numbers>();
    for (const text of ["one", "two"]) tell("note", text);
    const answers = await Promise.all(Array.from({ length: 500 }, (_, i) => ask("double", i)));
    expect(answers).toEqual(Array.from({ length: 500 }, (_, i) => 2 * i));
    expect(noted).toEqual(["one", "two"]);
  });

  test("passes an error on with its message and code", async () => {
    ends = await connectEnds();
    ends.parent.answer<Pick<Numbers, "fail">>({
      fail() {
        throw Object.assign(new Error("the disk is full"), { code: "ENOSPC" });
      },
    });
    const { ask } = ends.child.by<Numbers>();
    await expect(ask("fail", null)).rejects.toMatchObject({ message: "the disk is full", code: "ENOSPC" });
    await expect(ask("never", null)).rejects.toThrow("nobody answers never");
  });

  test("refuses what is asked and not answered when the other side dies, and all that comes after", async () => {
    ends = await connectEnds();
    ends.child.answer<Pick<Numbers, "never">>({ never: () => new Promise(() => {}) });
    const { ask } = ends.parent.by<Numbers>();
    const asked = ask("never", null);
    const refused = expect(asked).rejects.toMatchObject({ name: "ClosedError", code: "DATABASE_AWAY" });
    ends.kill();
    await ends.parent.closed;
    await refused;
    await expect(ask("never", null)).rejects.toMatchObject({ name: "ClosedError" });
  });

  test("reads messages from pieces of any size, and of any letters", async () => {
    for (const size of [1, 3, 7, 4096]) {
      const [there, back] = [new PassThrough(), new PassThrough()];
      const cut = new PassThrough({
        transform(chunk: Buffer, _, done) {
          for (let at = 0; at < chunk.length; at += size) this.push(chunk.subarray(at, at + size));
          done();
        },
      });
      const parent = createChannel(duplexOf(there.pipe(cut), back));
      const child = createChannel(duplexOf(back, there));
      const noted: string[] = [];
      const note = (text: string) => {
        noted.push(text);
        return null;
      };
      parent.answer<Pick<Numbers, "note">>({ note });
      const texts = ["", "ä€😀", "x".repeat(10_000)];
      await Promise.all(texts.map((text) => child.by<Numbers>().ask("note", text)));
      expect(noted).toEqual(texts);
      child.close();
    }
  });

  test("sends all that is asked in one step as one piece", async () => {
    ends = await connectEnds();
    let pieces = 0;
    ends.parentSocket.on("data", () => pieces++);
    ends.parent.answer<Pick<Numbers, "double">>({ double: (number) => number });
    const { ask } = ends.child.by<Numbers>();
    await Promise.all(Array.from({ length: 100 }, (_, i) => ask("double", i)));
    expect(pieces).toBe(1);
  });
});

/** The types of `Duplex.from` know web streams only. */
function duplexOf(readable: PassThrough, writable: PassThrough): Duplex {
  return Duplex.from({ readable, writable } as never);
}
