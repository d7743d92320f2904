/**
 * What a read brings of a stream is taken in turns where it is much, so that others have theirs; and so is one long frame.
 */
import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert";
import { describe, test } from "vitest";
import { ChatCompletionChunkSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { Attempt } from "../../../src/providers/contract.ts";
import { readFrames } from "../../../src/providers/frames/read-frames.ts";
import type { Dialect } from "../../../src/providers/upstream/dialect.ts";
import type { Wire } from "../../../src/wire/wire.ts";

/** Takes all frames, up to the one that says so. */
function dialect(): Dialect {
  let isOver = false;
  const follower = {
    isEnd: (data: Buffer) => {
      isOver = data.equals(Buffer.from("[DONE]"));
      return isOver;
    },
    isOver: () => isOver,
    isComplete: () => isOver,
    take: (frame: Wire) => frame,
  };
  return { follow: () => follower, errorIn: () => undefined } as unknown as Dialect;
}

const attempt = { meter: { ended: () => {} } } as unknown as Attempt;
const done = Buffer.from("data: [DONE]\n\n");

/** Reads a stream of which each list comes at once. Returns its batches, and how often the event loop went round meanwhile. */
async function read(reads: readonly (readonly Buffer[])[]) {
  const body = (async function* () {
    yield* reads;
  })();
  let rounds = 0;
  let isRead = false;
  const count = () => {
    rounds++;
    if (!isRead) setImmediate(count);
  };
  setImmediate(count);
  const batches: (readonly Wire[])[] = [];
  try {
    for await (const batch of readFrames(body, ChatCompletionChunkSchema, dialect(), attempt)) batches.push(batch);
  } finally {
    isRead = true;
  }
  return { batches, rounds };
}

const comments = Buffer.alloc(65_535, ": x\n\n");
const frames = Buffer.alloc(60_000, 'data: {"a":1}\n\n');

describe("of a stream", () => {
  test("a read of nothing but comments takes a turn for each 64 KB", async () => {
    const { batches, rounds } = await read([Array.from({ length: 16 }, () => comments), [done]]);
    deepStrictEqual(batches, []);
    ok(rounds >= 15, `${rounds} rounds`);
  });

  test("a read of many frames is handed over in parts, all of them and in their order", async () => {
    const numbered = Array.from({ length: 4_000 }, (_, i) => Buffer.from(`data: {"i":${i}}\n\n`));
    const { batches, rounds } = await read([[frames, Buffer.concat(numbered)], [done]]);
    const seen = batches.flat().flatMap((frame) => ("i" in frame.json() ? [frame.json().i] : []));
    deepStrictEqual(seen, [...numbered.keys()]);
    strictEqual(batches.flat().length, 4_000 + 4_000);
    ok(Math.max(...batches.map(({ length }) => length)) <= 512);
    ok(rounds >= 14, `${rounds} rounds`);
  });

  test("a small read is handed over at once", async () => {
    const { batches } = await read([[Buffer.from('data: {"a":1}\n\ndata: {"a":2}\n\n')], [done]]);
    deepStrictEqual(
      batches.map((batch) => batch.map((frame) => frame.json())),
      [[{ a: 1 }, { a: 2 }]],
    );
  });

  test("a frame of megabytes is read in turns", async () => {
    const json = { list: Array.from({ length: 1_000_000 }, (_, i) => i) };
    const frame = Buffer.from(`data: ${JSON.stringify(json)}\n\n`);
    const { batches, rounds } = await read([[frame], [done]]);
    deepStrictEqual(batches[0]?.[0]?.json(), json);
    ok(rounds > 4, `${rounds} rounds`);
  });

  test("a frame of megabytes that is no JSON fails the stream, after what came before it", async () => {
    const bad = Buffer.from(`data: {"a":"${"a".repeat(200_000)}\n\n`);
    const body = (async function* () {
      yield [Buffer.from('data: {"a":1}\n\n'), bad];
    })();
    const seen: unknown[] = [];
    const reading = async () => {
      for await (const batch of readFrames(body, ChatCompletionChunkSchema, dialect(), attempt))
        seen.push(...batch.map((frame) => frame.json()));
    };
    await rejects(reading(), /cannot be read/);
    deepStrictEqual(seen, [{ a: 1 }]);
  });
});
