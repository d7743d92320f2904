/** An upstream's unary answer: its reader learns of its end, or of its failure. */
import { afterEach, expect, test, vi } from "vitest";
import { cancelled, upstreamFailed, upstreamTimeout } from "../../../src/call/refusals.ts";
import { type Reader, UpstreamReply } from "../../../src/providers/upstream/reply.ts";
import { readError, readWhole } from "../../../src/providers/upstream/whole-body.ts";

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

test("a first line of a stream is not taken for a complete body, however long the next one takes", () => {
  vi.useFakeTimers();
  try {
    const parts = [
      { object: "chat.completion.chunk", choices: [{ index: 0, delta: { role: "assistant" }, finish_reason: null }] },
      { choices: [{ index: 0, delta: {} }] },
      { object: "text_completion", choices: [{ index: 0, text: "a", finish_reason: null }] },
      { type: "message_start", message: {} },
      { type: "response.created", response: {} },
    ];
    const wholes = [
      { object: "chat.completion", choices: [{ index: 0, message: { content: "a" }, finish_reason: "stop" }] },
      { object: "text_completion", choices: [{ index: 0, text: "a", finish_reason: "stop" }] },
      { type: "message", content: [] },
      { object: "response", output: [] },
    ];
    for (const [isLeft, bodies] of [[0, parts] as const, [1, wholes] as const]) {
      for (const body of bodies) {
        const leave = vi.fn();
        let reader: Reader | undefined;
        const read = (one: Reader) => {
          reader = one;
        };
        void readWhole(new UpstreamReply(200, {}, { read, leave, lifeless: () => {} }), 1000);
        reader?.take([Buffer.from(`${JSON.stringify(body)}\n`)]);
        vi.advanceTimersByTime(10_000);
        expect(leave, JSON.stringify(body)).toHaveBeenCalledTimes(isLeft);
      }
    }
  } finally {
    vi.useRealTimers();
  }
});

const complete = '{"object":"chat.completion","choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}';

test("complete JSON is whole, however its transfer ends", async () => {
  for (const failure of [upstreamFailed("the connection to it broke"), upstreamTimeout("no piece in 60 s")]) {
    const { reader, whole } = reading(1000);
    reader.take([Buffer.from(complete)]);
    reader.reject(failure);
    expect(String(await whole)).toBe(complete);
  }
});

test.each([
  ["what is cut off", complete.slice(0, -1), upstreamFailed("the connection to it broke")],
  ["nothing", "", upstreamFailed("the connection to it broke")],
  ["a chunk of a stream", '{"object":"chat.completion.chunk","choices":[]}', upstreamFailed("it broke")],
  ["the answer of a call that nobody awaits", complete, cancelled()],
  ["the answer of a call whose caller waits no longer", complete, upstreamTimeout("no answer in 1 s", true)],
])("%s is not", async (_, body, failure) => {
  const { reader, whole } = reading(1000);
  if (body !== "") reader.take([Buffer.from(body)]);
  reader.reject(failure);
  await expect((async () => whole)()).rejects.toBe(failure);
});

test("an error that breaks off keeps its status, and its words where they are complete", async () => {
  for (const [body, read] of [
    [complete, complete],
    ['{"error":{"mess', ""],
    ["", ""],
  ] as const) {
    let reader: Reader | undefined;
    const source = { read: (one: Reader) => (reader = one), leave: () => {}, lifeless: () => {} };
    const whole = readError(new UpstreamReply(400, {}, source as never));
    if (body !== "") reader?.take([Buffer.from(body)]);
    reader?.reject(upstreamFailed("the connection to it broke"));
    expect(String(await whole)).toBe(read);
  }
});
