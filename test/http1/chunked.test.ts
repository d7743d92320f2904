/** Bodies in chunks are read to what was written, and what is none is refused. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ChunkedDecoder, encodeChunk, encodeLastChunk } from "../../src/http1/chunked.ts";

describe("chunks", () => {
  const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 8 });

  test("are read to what was written, however they are cut", () => {
    const cuts = fc.array(fc.nat(400), { maxLength: 12 });
    fc.assert(
      fc.property(pieces, cuts, fc.boolean(), (written, places, hasTrailers) => {
        const end = encodeLastChunk(hasTrailers ? "x-one: 1\r\nx-two: 2\r\n" : "");
        const all = Buffer.concat([
          ...written.map((piece) => encodeChunk("", Buffer.from(piece))),
          Buffer.from(`${end}more`),
        ]);
        const reader = new ChunkedDecoder();
        const read: Buffer[] = [];
        let taken = 0;
        const bounds = [...places.map((place) => place % all.length).sort((a, b) => a - b), all.length];
        let from = 0;
        for (const to of bounds) {
          taken += reader.decode(all.subarray(from, to), read);
          from = to;
        }
        expect(reader.isComplete).toBe(true);
        expect(taken).toBe(all.length - "more".length);
        expect(Buffer.concat(read)).toEqual(Buffer.concat(written.map((piece) => Buffer.from(piece))));
      }),
    );
  });

  test.each([
    "x\r\n",
    "5;a=b\rc\r\n",
    "-1\r\na",
    "123456789\r\n",
    "5 \r\n",
    "5; a\r\n",
    '5;a="b\r\n',
    "0\r\nx\r\n",
    "0\r\nx: a\0\r\n",
    "0\r\ncontent-length: 5\r\n",
    "1\r\nab\r\n",
    "1\r\na\n",
    "1\n",
    "\r\n",
    `0\r\n${"x".repeat(20_000)}`,
  ])("that are none are refused: %j", (text) => {
    const reader = new ChunkedDecoder();
    expect(() => reader.decode(Buffer.from(text), [])).toThrow(RangeError);
  });

  test("may have extensions, and sizes in capitals", () => {
    const reader = new ChunkedDecoder();
    const read: Buffer[] = [];
    reader.decode(Buffer.from('A;x=y;z;q="a \\" b"\r\n0123456789\r\n000\r\n\r\n'), read);
    expect(String(Buffer.concat(read))).toBe("0123456789");
    expect(reader.isComplete).toBe(true);
  });
});
