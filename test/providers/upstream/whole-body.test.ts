/** An upstream's unary answer: its reader learns of its end, or of its failure. */
import { afterEach, expect, test, vi } from "vitest";
import { type Reader, UpstreamReply } from "../../../src/providers/upstream/reply.ts";
import { readWhole } from "../../../src/providers/upstream/whole-body.ts";

afterEach(() => vi.restoreAllMocks());

function reading(maxBytes: number) {
  let reader: Reader | undefined;
  const whole = readWhole(
    new UpstreamReply(
      200,
      {},
      {
        read: (one) => {
          reader = one;
        },
        leave: () => {},
        lifeless: () => {},
      },
    ),
    maxBytes,
  );
  return { reader: reader as Reader, whole };
}

test("a body's chunks are joined", async () => {
  const { reader, whole } = reading(10);
  for (const piece of ["he", "ll", "o"]) reader.take([Buffer.from(piece)]);
  reader.resolve();
  expect(String(await whole)).toBe("hello");
});

test("a body is refused where it becomes too large", () => {
  const { reader } = reading(3);
  reader.take([Buffer.from("one")]);
  expect(() => reader.take([Buffer.from("more")])).toThrow("too large");
});

test("a body without memory for it fails, and does not wait for ever", async () => {
  const { reader, whole } = reading(10);
  for (const piece of ["he", "llo"]) reader.take([Buffer.from(piece)]);
  vi.spyOn(Buffer, "concat").mockImplementation(() => {
    throw new RangeError("Array buffer allocation failed");
  });
  reader.resolve();
  await expect((async () => whole)()).rejects.toThrow("allocation failed");
});
