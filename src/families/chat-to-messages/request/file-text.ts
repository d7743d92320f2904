/** The text of a file that comes in base64: decoded once, piece by piece, for a file may be nearly as long as a body. */
import type { CooperativeTask } from "../../../runtime/cooperative.ts";

/** pieceLength is how many characters of base64 are read between two `yield`s: some tenths of a millisecond of work. */
const pieceLength = 2 ** 16;

/** ignored are the characters of base64 that stand for nothing, such as its line breaks. */
const ignored = /[^\w+/=-]+/g;

/** controls are the characters that no text has: control characters that are no white space and no escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for.
const controls = /[\0-\x08\x0e-\x1a\x1c-\x1f]/;

/** declaredText returns the text of a file that is declared as text. Bytes that are no UTF-8 become replacement characters. */
export function* declaredText(base64: string): CooperativeTask<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let text = "";
  for (const bytes of piecesOf(base64)) {
    text += decoder.decode(bytes, { stream: true });
    yield;
  }
  return text + decoder.decode();
}

/** undeclaredText returns the text of a file of another type; undefined where its bytes are none. */
export function* undeclaredText(base64: string): CooperativeTask<string | undefined> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
  let text = "";
  try {
    for (const bytes of piecesOf(base64)) {
      const piece = decoder.decode(bytes, { stream: true });
      if (controls.test(piece)) return undefined;
      text += piece;
      yield;
    }
    text += decoder.decode();
  } catch {
    // It is no UTF-8.
    return undefined;
  }
  return text || undefined;
}

/** piecesOf decodes base64 as `Buffer.from` does, a piece at a time. */
function* piecesOf(base64: string): Generator<Buffer, void, undefined> {
  let rest = "";
  for (let at = 0; at < base64.length; at += pieceLength) {
    const read = rest + base64.slice(at, at + pieceLength).replace(ignored, "");
    const [characters = "", ...padding] = read.split("=", 2);
    if (padding.length > 0) {
      yield Buffer.from(characters, "base64");
      return;
    }
    // Four characters stand for three bytes.
    const whole = characters.length - (characters.length % 4);
    rest = characters.slice(whole);
    yield Buffer.from(characters.slice(0, whole), "base64");
  }
  yield Buffer.from(rest, "base64");
}
