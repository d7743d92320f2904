/** Large reads of a stream are processed in turns, so that other streams have theirs, and so are long frames. */
import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert";
import { describe, test } from "vitest";
import { ChatCompletionChunkSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { Attempt } from "../../../src/providers/contract.ts";
import type { Dialect } from "../../../src/providers/dialect.ts";
import { readFrames } from "../../../src/providers/frames/read-frames.ts";
import type { Wire } from "../../../src/wire/wire.ts";

/** Accepts all frames, up to the end mark. */
function dialect(): Dialect {
  let isOver = false;
  const tracker = {
    isEndMark: (data: Buffer) => {
      isOver = data.equals(Buffer.from("[DONE]"));
      return isOver;
    },
    isOver: () => isOver,
    isComplete: () => isOver,
    take: (frame: Wire) => frame,
  };
  return { track: () => tracker, errorIn: () => undefined } as unknown as Dialect;
}

const attempt = { meter: { reportEnd: () => {} } } as unknown as Attempt;
const done = Buffer.from("data: [DONE]\n\n");

/**
 * Reads a stream whose lists each come at once. Returns its batches, and the number of event loop rounds meanwhile.
 */
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

describe("a stream", () => {
  test("with a read of comments alone takes a turn for each 64 KB", async () => {
    const { batches, rounds } = await read([Array.from({ length: 16 }, () => comments), [done]]);
    deepStrictEqual(batches, []);
    ok(rounds >= 15, `${rounds} rounds`);
  });

  test("with a read of many frames hands them over in parts, completely and in order", async () => {
    const numbered = Array.from({ length: 4_000 }, (_, i) => Buffer.from(`data: {"i":${i}}\n\n`));
    const { batches, rounds } = await read([[frames, Buffer.concat(numbered)], [done]]);
    const seen = batches.flat().flatMap((frame) => ("i" in frame.json() ? [frame.json().i] : []));
    deepStrictEqual(seen, [...numbered.keys()]);
    strictEqual(batches.flat().length, 4_000 + 4_000);
    ok(Math.max(...batches.map(({ length }) => length)) <= 512);
    ok(rounds >= 14, `${rounds} rounds`);
  });

  test("with a small read hands it over at once", async () => {
    const { batches } = await read([[Buffer.from('data: {"a":1}\n\ndata: {"a":2}\n\n')], [done]]);
    deepStrictEqual(
      batches.map((batch) => batch.map((frame) => frame.json())),
      [[{ a: 1 }, { a: 2 }]],
    );
  });

  test("with a frame of megabytes reads it in turns", async () => {
    const json = { list: Array.from({ length: 1_000_000 }, (_, i) => i) };
    const frame = Buffer.from(`data: ${JSON.stringify(json)}\n\n`);
    const { batches, rounds } = await read([[frame], [done]]);
    deepStrictEqual(batches[0]?.[0]?.json(), json);
    ok(rounds > 4, `${rounds} rounds`);
  });

  test("with a frame of megabytes that is not JSON fails, after what came before it", async () => {
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
