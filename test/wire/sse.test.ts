/** Server-sent events are read from bytes cut anywhere, and written so that every client can read them. */
import { deepStrictEqual, ok, strictEqual, throws } from "node:assert";
import fc from "fast-check";
import { afterEach, describe, test, vi } from "vitest";
import { Family } from "../../gen/modelgateway/v1/access_pb.ts";
import { framesOf } from "../../src/doors/rest/frames.ts";
import { dataFrame, maxFrameBytes, type SseFrame, SseReader } from "../../src/wire/sse.ts";

const { keepAlive } = framesOf(Family.OPENAI);

type Frame = string | [event: string, data: string];

/** Reads the pieces one by one. A frame without an event becomes its data. */
function read(pieces: readonly Buffer[]): Frame[] {
  const reader = new SseReader();
  const frames: SseFrame[] = pieces.flatMap((piece) => reader.push(piece));
  frames.push(...reader.end());
  return frames.map(({ event, data }) => (event === undefined ? data.toString() : [event, data.toString()]));
}

/** Cuts the bytes before each of the given positions. */
function cut(bytes: Buffer, positions: readonly number[]): Buffer[] {
  const at = [...positions].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

const everyByte = (bytes: Buffer) => Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));

const scenarios: [name: string, text: string, frames: Frame[]][] = [
  ["frames that end with LF", 'data: {"a":1}\n\ndata: [DONE]\n\n', ['{"a":1}', "[DONE]"]],
  ["frames that end with CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]],
  ["frames that end with CR", "data: a\r\rdata: b\r\r", ["a", "b"]],
  [
    "line ends of all three kinds in one frame",
    "event: e\rdata: a\r\ndata: b\n\r\ndata: c\r\r\n",
    [["e", "a\nb"], "c"],
  ],
  ["data without the space", "data:a\n\ndata:{}\n\n", ["a", "{}"]],
  ["only the first space taken away", "data:  [DONE] \n\ndata:\ta\n\n", [" [DONE] ", "\ta"]],
  ["several data lines, joined by LF", 'data: {\ndata: "a":1\ndata:\ndata: }\n\n', ['{\n"a":1\n\n}']],
  ["comments before, between and within frames", ": hi\n\n:\n\ndata: a\n:x\ndata: b\n\n: ping\n\n", ["a\nb"]],
  ["a frame with an event", "event: delta\ndata: x\n\n", [["delta", "x"]]],
  ["an event after its data", "data: x\nevent:delta\n\n", [["delta", "x"]]],
  ["an event-only frame, whose name the next frame does not take", "event: ping\n\ndata: a\n\n", ["a"]],
  ["a frame whose data is empty", "data:\n\ndata\n\ndata: \n\ndata: a\n\n", ["a"]],
  ["fields that nobody asked for", "id: 7\nretry: 3000\nfoo: bar\nDATA: no\n data: no\ndata: a\n\n", ["a"]],
  ["no blank line after the last frame", "data: a\n\ndata: b\n", ["a", "b"]],
  ["no line end after the last frame", "data: a\n\ndata: b", ["a", "b"]],
  ["no line end after an event-only frame", "data: a\n\nevent: stop", ["a"]],
  ["blank lines to begin and to end with", "\n\r\n\rdata: a\n\n\n\n", ["a"]],
  ["a byte order mark", "\ufeffdata: a\n\ndata: b\n\n", ["a", "b"]],
  ["a byte order mark before a blank line", "\ufeff\n\ndata: a\n\n", ["a"]],
  ["a byte order mark and nothing else", "\ufeff", []],
  ["a byte order mark before an event", "\ufeffevent: e\ndata: a\n\n", [["e", "a"]]],
  ["a second byte order mark, which is no part of the name", "\ufeff\ufeffdata: no\n\ndata: a\n\n", ["a"]],
  ["a byte order mark within data", "data: \ufeffa\n\n\ufeffdata: no\n\n", ["\ufeffa"]],
  ["characters of two, three and four bytes", "event: é\ndata: 漢😀\n\n", [["é", "漢😀"]]],
  ["colons in data", "data: a:b: c\n\ndata::\n\n", ["a:b: c", ":"]],
  ["other line separators in data", "data: a\u2028b\u2029c\u0085d\fe\n\n", ["a\u2028b\u2029c\u0085d\fe"]],
  ["nothing", "", []],
  [
    "a JSON object without a field name",
    'data: a\n\n{"error":{"message":"no"}}\n\ndata: b\n\n',
    ["a", '{"error":{"message":"no"}}', "b"],
  ],
  ["that within a frame", 'event: e\ndata: a\n{"b":1}\ndata: c\n\n', [["e", "a"], '{"b":1}', "c"]],
  ["a brace alone, and what only begins like an object", 'data: a\n\n{\n{"a":\n}\n', ["a"]],
  [
    "an error on several lines, which nobody calls data",
    'data: a\n\n[{\n  "error": {\n    "message": "no"\n  }\n}\n]\n\n{\n"b": 1\n}\ndata: c\n\n',
    ["a", '[{\n  "error": {\n    "message": "no"\n  }\n}\n]', '{\n"b": 1\n}', "c"],
  ],
  ["no text that resembles it", "data: a\n\n[INFO] {x}\n[\nend\n\ndata: b\n\n", ["a", "b"]],
  [
    "an error in a field of that name, which ends the frame before it",
    'data: a\nerror: {"message":"no"}\n\ndata: b\n\n',
    ["a", ["error", '{"message":"no"}'], "b"],
  ],
  [
    "objects without blank lines between them",
    'data: {"a":1}\ndata: {"b":2}\ndata: [DONE]\n\n',
    ['{"a":1}', '{"b":2}', "[DONE]"],
  ],
];

describe("an upstream's frames are read, wherever the network cuts them", () => {
  test.each(scenarios)("%s", (_, text, frames) => {
    const bytes = Buffer.from(text);
    deepStrictEqual(read([bytes]), frames);
    deepStrictEqual(read(everyByte(bytes)), frames);
    for (let i = 0; i <= bytes.length; i++) {
      deepStrictEqual(read(cut(bytes, [i])), frames);
      for (let j = i; j <= bytes.length; j++) deepStrictEqual(read(cut(bytes, [i, j])), frames);
    }
  });

  test("a random stream is read as the standard says, in any pieces", () => {
    const token = fc.constantFrom(
      "data:",
      "data: ",
      "data",
      "event: e",
      ":",
      " ",
      "a",
      "é",
      "😀",
      "\r",
      "\n",
      "\r\n",
      "\n\n",
    );
    const stream = fc.tuple(fc.constantFrom("", "\ufeff"), fc.array(token, { maxLength: 30 }));
    fc.assert(
      fc.property(stream, fc.array(fc.nat(), { maxLength: 8 }), ([mark, tokens], cuts) => {
        const bytes = Buffer.from(mark + tokens.join(""));
        const positions = cuts.map((position) => position % (bytes.length + 1));
        deepStrictEqual(read(cut(bytes, positions)), byTheLetter(bytes.toString()));
        deepStrictEqual(read(everyByte(bytes)), byTheLetter(bytes.toString()));
      }),
      { numRuns: 2000 },
    );
  });

  test("frames come out as soon as they are complete", () => {
    const reader = new SseReader();
    deepStrictEqual(reader.push(Buffer.from("data: a\n")), []);
    strictEqual(reader.push(Buffer.from("\ndata: b\r\n\r")).length, 2);
    deepStrictEqual(reader.push(Buffer.from("\n")), []);
    deepStrictEqual(reader.end(), []);
  });

  test("a frame keeps its bytes when later ones arrive", () => {
    const reader = new SseReader();
    reader.push(Buffer.from("data: fir"));
    const [first] = reader.push(Buffer.from("st\n\ndata: sec"));
    const [second] = reader.push(Buffer.from("ond\n\ndata: third"));
    reader.push(Buffer.from(" and more"));
    strictEqual(first?.data.toString(), "first");
    strictEqual(second?.data.toString(), "second");
  });
});

describe("a frame has a maximum size", () => {
  const mega = Buffer.alloc(1024 * 1024, "x");

  test("a frame up to the maximum is read", () => {
    const data = Buffer.alloc(maxFrameBytes - "data:".length, "x");
    const reader = new SseReader();
    const frames = [...reader.push(Buffer.from("data:")), ...reader.push(data), ...reader.push(Buffer.from("\n\n"))];
    strictEqual(frames[0]?.data.length, data.length);
  });

  test("an unfinished line above it is refused", () => {
    for (const start of ["data: ", ": ", "x"]) {
      const reader = new SseReader();
      reader.push(Buffer.from(start));
      throws(() => {
        for (let i = 0; i < 17; i++) reader.push(mega);
      }, RangeError);
    }
  });

  test("so are too many data lines without a blank line", () => {
    const reader = new SseReader();
    const line = Buffer.concat([Buffer.from("data: "), mega, Buffer.from("\n")]);
    throws(() => {
      for (let i = 0; i < 17; i++) reader.push(line);
    }, RangeError);
  });

  test("so is a complete line above it", () => {
    const line = Buffer.concat([Buffer.from("data: "), Buffer.alloc(maxFrameBytes, "x"), Buffer.from("\n\n")]);
    throws(() => new SseReader().push(line), RangeError);
  });

  test("but many frames and many comments are accepted", () => {
    const reader = new SseReader();
    const frame = Buffer.concat([Buffer.from("data: "), mega, Buffer.from("\n\n: "), mega, Buffer.from("\n")]);
    let frames = 0;
    for (let i = 0; i < 20; i++) frames += reader.push(frame).length;
    strictEqual(frames, 20);
  });
});

describe("a long frame in small chunks", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test("is copied a few times in all, not at each chunk", () => {
    const size = 4 * 1024 * 1024;
    let copied = 0;
    const { copy } = Buffer.prototype;
    const { concat } = Buffer;
    vi.spyOn(Buffer.prototype, "copy").mockImplementation(function (this: Buffer, ...args: Parameters<typeof copy>) {
      const bytes = copy.apply(this, args);
      copied += bytes;
      return bytes;
    });
    vi.spyOn(Buffer, "concat").mockImplementation((list, length) => {
      const whole = concat(list, length);
      copied += whole.length;
      return whole;
    });
    const reader = new SseReader();
    const piece = Buffer.alloc(1024, "x");
    reader.push(Buffer.from("data: "));
    for (let sent = 0; sent < size; sent += piece.length) reader.push(piece);
    const [frame] = reader.push(Buffer.from("\n\n"));
    strictEqual(frame?.data.length, size);
    ok(copied >= size, "the copies were counted");
    ok(copied < 4 * size, `${copied} bytes were copied for a frame of ${size}`);
  });
});

describe("frames that the gateway writes", () => {
  test("are one data line and a blank line each, in one buffer", () => {
    const frames = Buffer.concat([dataFrame(Buffer.from('{"a":1}')), dataFrame(Buffer.from("[DONE]"))]);
    strictEqual(frames.toString(), 'data: {"a":1}\n\ndata: [DONE]\n\n');
  });

  test("contain no line break, and still the same JSON", () => {
    const json = { text: "a\n\r\n", list: [1, { é: "漢" }] };
    for (const pretty of [JSON.stringify(json, null, 2), JSON.stringify(json, null, "\t").replaceAll("\n", "\r\n")]) {
      const payload = Buffer.from(pretty);
      const frame = dataFrame(payload).toString();
      strictEqual(frame.indexOf("\n"), frame.length - 2);
      ok(!frame.includes("\r"));
      deepStrictEqual(JSON.parse(frame.slice("data: ".length)), json);
      strictEqual(payload.toString(), pretty);
    }
  });

  test("come back from the gateway's own reader, without the keep-alives between them", () => {
    const payloads = ['{"a":"\u2028"}', "x", " [DONE]"];
    const stream = payloads.flatMap((payload) => [keepAlive, dataFrame(Buffer.from(payload))]);
    deepStrictEqual(read(stream), payloads);
  });
});

/**
 * The standard's event stream over text, with our additions: the end completes a frame, and empty data is no frame.
 */
function byTheLetter(stream: string): Frame[] {
  const frames: Frame[] = [];
  let event: string | undefined;
  let data: string[] = [];
  const lines = stream.replace(/^\ufeff/, "").split(/\r\n|\r|\n/);
  for (const line of [...lines, ""]) {
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/su.exec(line) ?? [];
    if (line === "") {
      const text = data.join("\n");
      if (text !== "") frames.push(event === undefined ? text : [event, text]);
      event = undefined;
      data = [];
    } else if (name === "data") data.push(value);
    else if (name === "event") event = value;
  }
  return frames;
}
