/** Answers that are written whole: their fields as lines, most of them remembered, and all of one tick in one buffer. */
import { once } from "node:events";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FieldLines } from "../../src/http1/field-lines.ts";
import { writeFields } from "../../src/http1/fields.ts";
import type { PlainAnswer } from "../../src/http1/server/answer.ts";
import { startServedPort } from "../support/clients/served-port.ts";

describe("lines", () => {
  const name = fc.constantFrom("x-id", "x-a", "x-b", "constructor", "__proto__x");
  const value = fc.oneof(
    fc.constantFrom("", "a", "b", "a".repeat(300)),
    fc.stringMatching(/^[\x20-\x7e\xa0-\xff]{0,9}$/),
  );
  const fields = fc.array(fc.tuple(name, value)).map((pairs) => Object.fromEntries(pairs));

  test("say what fields say, whatever came before them", () => {
    const lines = new FieldLines(["x-id"]);
    const property = fc.property(fields, fields, (some, more) => {
      const { length } = lines.write(some, more);
      const first = Object.fromEntries(Object.entries(some).filter(([key]) => more[key] === undefined));
      const text = `\r\n${writeFields(first)}${writeFields(more)}`.slice(0, -2);
      expect(lines.write(some, more)).toBe(text);
      expect(length).toBe(text.length);
    });
    fc.assert(property, { numRuns: 2_000 });
  });

  test("are remembered again when a value that has changed stays", () => {
    const lines = new FieldLines([]);
    for (const text of ["a", "b", "a", "c"]) {
      for (let i = 0; i < 200; i++) expect(lines.write({ x: text }, {})).toBe(`\r\nx: ${text}`);
    }
  });

  test("are refused for a value with forbidden characters, whatever was remembered", () => {
    const lines = new FieldLines(["x-id"]);
    for (let i = 0; i < 200; i++) {
      lines.write({ x: "good" }, {});
      for (const bad of ["good\r\nx-evil: 1", "good\n", "\0", "\u010d\u010aa", "🙂"]) {
        expect(() => lines.write({ x: bad }, {})).toThrow(TypeError);
        expect(() => lines.write({}, { x: bad })).toThrow(TypeError);
      }
    }
  });
});

describe("an answer", () => {
  const post = (path: string) => `POST ${path} HTTP/1.1\r\nhost: h\r\ncontent-length: 0\r\n\r\n`;
  const whole = (answer: PlainAnswer, text: string, isLast = false) =>
    answer.whole(200, isLast ? "\r\nx: y\r\nconnection: close" : "\r\nx: y", isLast, Buffer.from(text));

  test("has its bytes to itself among those of one tick, of any length", async () => {
    const { next, client } = await startServedPort();
    const texts = ["a", "b".repeat(5_000), "", "c".repeat(20_000), "d".repeat(16_000), "e"];
    const clients = texts.map((text) => ({ text, ...client() }));
    const asked: PlainAnswer[] = [];
    for (const { socket } of clients) {
      socket.write(post("/x"));
      asked.push((await next()).answer);
    }
    for (const [i, text] of texts.entries()) whole(asked[i] as PlainAnswer, text);
    for (const { text, until } of clients) {
      const end = `\r\n\r\n${text}`;
      expect(await until(end)).toMatch(
        new RegExp(
          `^HTTP/1.1 200 OK\r\nx: y\r\ncontent-length: ${text.length}\r\ndate: .* GMT\r\nconnection: keep-alive\r\nkeep-alive: timeout=65${end}$`,
        ),
      );
    }
  });

  test("has its bytes to itself until a slow reader takes them", async () => {
    const { next, client } = await startServedPort();
    const slow = client();
    const quick = client();
    slow.socket.pause();
    const texts: string[] = [];
    let written = 0;
    // Until the system takes no more, what is written goes out at once.
    for (let i = 0; written < 10; i++) {
      slow.socket.write(post("/slow"));
      const { request, answer } = await next();
      const text = `${String(i).padStart(6, "0")}${"s".repeat(15_000)}`;
      texts.push(text);
      whole(answer, text);
      await new Promise(setImmediate);
      if (request.socket.writableLength > 0) written++;
      quick.socket.write(post("/quick"));
      whole((await next()).answer, "q".repeat(15_100));
      await new Promise(setImmediate);
      if (request.socket.writableNeedDrain) break;
    }
    expect(written).toBeGreaterThan(0);
    slow.socket.write(post("/last"));
    slow.socket.resume();
    whole((await next()).answer, "the end");
    const bodies = (await slow.until("the end")).split(/HTTP\/1\.1 200 OK[\s\S]*?\r\n\r\n/).slice(1, -1);
    expect(bodies).toEqual(texts);
  });

  test("that ends its connection is written before that, and so is one whose port closes in its tick", async () => {
    const { next, client, connections } = await startServedPort();
    for (const isLast of [true, false]) {
      const { socket, until } = client();
      socket.write(post("/x"));
      whole((await next()).answer, "told", isLast);
      if (!isLast) connections.at(-1)?.close();
      const closed = once(socket, "close");
      expect(await until("told")).toContain(isLast ? "connection: close" : "connection: keep-alive");
      await closed;
    }
  });
});
