/** Bytes of a connection: mutated where it hurts, and cut anywhere. Text is of one byte a character. */
import { pick, type Random } from "../support/run/random.ts";
import { mutatedBytes } from "./mutate.ts";

/** What has a meaning in HTTP/1.1, or once had one to somebody. */
const tokens = [
  ...["\r\n", "\n", "\r", "\r\n\r\n", "\n\n", "\0", " ", "\t", ":", ";", ",", "\x7f", "\x80", "\xff", "\x0b"],
  ...["0", "1", "5", "00", "f", "0x", "+", "-", "9".repeat(20), "f".repeat(17), "chunked", "identity", "close"],
  ...["content-length: 5\r\n", "Content-Length: 0\r\n", "content-length:\r\n", "content-length: 5, 5\r\n"],
  ...["transfer-encoding: chunked\r\n", "Transfer-Encoding: gzip, chunked\r\n", "transfer-encoding: identity\r\n"],
  ...["connection: close\r\n", "Connection: keep-alive, close\r\n", "connection: x\r\n", "keep-alive: timeout=5\r\n"],
  ...["x: y\r\n", " x: folded\r\n", "x : y\r\n", ": y\r\n", "x\r\n", "__proto__: y\r\n", "x: \r\n", "x:\t y \t\r\n"],
  ...["HTTP/1.1", "HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "0\r\n\r\n", "5\r\nhello\r\n", "5;a=b\r\nhello\r\n"],
];

/** Returns text that differs at some places, one to three of them. */
export function mutatedText(text: string, random: Random): string {
  if (random() < 0.4) return mutatedBytes(Buffer.from(text, "latin1"), random).toString("latin1");
  let copy = text;
  const times = 1 + Math.floor(random() * 3);
  for (let i = 0; i < times; i++) copy = mutatedOnce(copy, random);
  return copy;
}

function mutatedOnce(text: string, random: Random): string {
  const action = random();
  // Between lines more happens than within them.
  const ends = [...text.matchAll(/\r\n/g)].map(({ index }) => index + 2);
  const at = action < 0.5 && ends.length > 0 ? pick(ends, random) : Math.floor(random() * (text.length + 1));
  if (action < 0.75) return text.slice(0, at) + pick(tokens, random) + text.slice(at);
  const to = Math.min(text.length, at + 1 + Math.floor(random() * 12));
  if (action < 0.9) return text.slice(0, at) + text.slice(to);
  return text.slice(0, to) + text.slice(at);
}

/** Returns the text in pieces: one, some, or one a byte where it is short. */
export function cut(text: string, random: Random): string[] {
  const kind = random();
  if (kind < 0.4 || text.length < 2) return [text];
  if (kind < 0.45 && text.length < 300) return [...text];
  const count = 1 + Math.floor(random() * 4);
  const places = Array.from({ length: count }, () => 1 + Math.floor(random() * (text.length - 1)));
  const bounds = [...new Set([0, ...places, text.length])].sort((a, b) => a - b);
  return bounds.slice(1).map((to, i) => text.slice(bounds[i], to));
}
