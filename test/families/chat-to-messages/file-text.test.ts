/** The text of a file is that of its bytes, wherever the pieces begin in which it is read; what is no text is not taken for one. */
import { describe, expect, test } from "vitest";
import { declaredText, undeclaredText } from "../../../src/families/chat-to-messages/request/file-text.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";

/** long is as many characters as are read in several pieces, of one byte to four. */
const long = "const naïve = '世界 🌍';\n".repeat(10_000);
const base64Of = (text: string | Buffer) => Buffer.from(text).toString("base64");

const written: Readonly<Record<string, string>> = {
  "as it is": base64Of(long),
  "in lines": base64Of(long).replace(/.{76}/g, "$&\r\n"),
  "in the alphabet of addresses": Buffer.from(long).toString("base64url"),
  "with what is no base64 between": base64Of(long).replace(/.{1001}/g, "$&!"),
  "with more behind its end": `${base64Of(`${long}.`)}==QUJD`,
};

describe("the text of a file is read from base64", () => {
  test.each(Object.entries(written))("%s", (_, base64) => {
    const text = Buffer.from(base64, "base64").toString();
    expect(text.startsWith(long)).toBe(true);
    expect(runNow(declaredText(base64)) === text).toBe(true);
    expect(runNow(undeclaredText(base64)) === text).toBe(true);
  });

  test("with its byte order mark, if it has one", () => {
    const marked = base64Of(`\ufeff${long}`);
    expect(runNow(undeclaredText(marked))?.charAt(0)).toBe("\ufeff");
    expect(runNow(declaredText(marked)).charAt(0)).toBe("\ufeff");
  });
});

const noText: Readonly<Record<string, Buffer>> = {
  "has a control byte at its end": Buffer.from(`${long}\0`),
  "has a control byte between": Buffer.from(`${long}\x1f${long}`),
  "ends within a character": Buffer.from(`${long}世`).subarray(0, -1),
  "is no UTF-8": Buffer.from(`${long}\xe9t\xe9`, "latin1"),
  "is empty": Buffer.alloc(0),
};

describe("a file of another type is no text where it", () => {
  test.each(Object.entries(noText))("%s", (_, bytes) => {
    expect(runNow(undeclaredText(base64Of(bytes)))).toBe(undefined);
    expect(runNow(declaredText(base64Of(bytes)))).toBe(bytes.toString());
  });
});

test.each(["\t", "\n", "\v", "\f", "\r", "\x1b[1m"])("%j may be in a text", (text) => {
  expect(runNow(undeclaredText(base64Of(text)))).toBe(text);
});
