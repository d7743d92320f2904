/** Heads that an upstream repeats are not parsed again, and have the same effect as if they were. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { readReplyHead } from "../../src/http1/client/reply.ts";
import { ReplyHeads } from "../../src/http1/client/reply-heads.ts";

const reply = (status: string, length: string, more = "x-a: b") =>
  Buffer.from(`HTTP/1.1 ${status}\r\nDate: now\r\n${more}\r\nContent-Length:${length}\r\nx-z: y\r\n\r\nbody`, "latin1");

interface Told {
  readonly status: number;
  readonly fields: object;
  readonly isOld: boolean;
  readonly keptMs: number;
  readonly from: number;
}

/** What is read of it by these heads, or what that throws. */
function toldBy(heads: ReplyHeads, bytes: Buffer): Told | string | undefined {
  try {
    const read = heads.read(bytes);
    if (!read) return undefined;
    const { status, fields, isOld, keptMs } = read.head;
    return { status, fields: { ...fields }, isOld, keptMs, from: read.from };
  } catch (error) {
    return (error as Error).message;
  }
}

test("the first head is not remembered, the second is, and its repetitions are not parsed", () => {
  const heads = new ReplyHeads();
  const read = (bytes: Buffer) => heads.read(bytes)?.head;
  const [first, second, third] = [reply("200 OK", " 4"), reply("200 OK", " 4"), reply("200 OK", " 1234")].map(read);
  expect(second).not.toBe(first);
  expect(third).toBe(second);
  expect(third).toMatchObject({ status: 200, fields: { date: "now", "content-length": "1234" } });
  expect(read(reply("429 No", " 1234"))).toMatchObject({ status: 429, fields: { "content-length": "1234" } });
});

test("each is read to the same, or refused in the same words, whichever came before it on its connection", () => {
  const status = fc.oneof({ weight: 5, arbitrary: fc.constant("200 OK") }, fc.constantFrom("204 No", "100 Go", "20 O"));
  const length = fc.constantFrom(" 4", "4", "  4 ", "\t04", " 0", " 70000", " 1234567890123456");
  const bad = fc.constantFrom(" ", "", " x", " 4x", " -4", " 4 4", " +4", " 4\r\nContent-Length: 4", " 4\r\nx-b: c");
  const more = fc.constantFrom(
    ...["x-a: c", "keep-alive: timeout=9", "connection: close", "transfer-encoding: chunked", "content-length: 5"],
  );
  const whole = fc.tuple(
    status,
    fc.oneof({ weight: 4, arbitrary: length }, bad),
    fc.oneof({ weight: 3, arbitrary: fc.constant("x-a: b") }, more),
  );
  /** Another byte somewhere, or what is there up to somewhere. */
  const byte = fc.option(fc.constantFrom(10, 13, 32, 48, 57, 58, 120));
  const harm = fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, fc.record({ at: fc.nat(120), byte }));
  let repeated = 0;
  fc.assert(
    fc.property(fc.array(fc.tuple(whole, harm), { minLength: 3, maxLength: 8 }), (replies) => {
      const heads = new ReplyHeads();
      const seen = new Set<object>();
      for (const [[ownStatus, ownLength, ownMore], harmed] of replies) {
        let bytes = reply(ownStatus, ownLength, ownMore);
        if (harmed && harmed.at < bytes.length) {
          if (harmed.byte === null) bytes = bytes.subarray(0, harmed.at);
          else bytes[harmed.at] = harmed.byte;
        }
        const told = toldBy(heads, bytes);
        expect(told).toEqual(toldBy(new ReplyHeads(), bytes));
        const head = typeof told === "object" ? heads.read(bytes)?.head : undefined;
        if (head && seen.has(head)) repeated++;
        if (head) seen.add(head);
      }
    }),
    { numRuns: 2_000 },
  );
  expect(repeated).toBeGreaterThan(300);
});

test("a connection is kept as long as its server says, a little less, and not for ever", () => {
  const kept = (more: string, version = "1.1") => readReplyHead(`HTTP/${version} 200 OK\r\n${more}`).keptMs;
  expect(kept("x: y")).toBe(4_000);
  expect(kept("keep-alive: timeout=9")).toBe(8_000);
  expect(kept("keep-alive: timeout=999999")).toBe(600_000);
  expect(kept("connection: Close")).toBe(0);
  expect(kept("x: y", "1.0")).toBe(0);
  expect(kept("connection: keep-alive", "1.0")).toBe(4_000);
});
