/** Requests of HTTP/1.1 as a client may send them, some after one another: most sound, and some of them mutated. */

import { pick, type Random } from "../support/run/random.ts";
import { mutatedText } from "./cut.ts";

const fields = [
  ...["authorization: Bearer abc\r\n", "authorization: Bearer xyz\r\n", "x-api-key: k\r\n", "Accept: */*\r\n"],
  ...["content-type: application/json\r\n", "X-One: 1\r\n", "x-one: 2\r\n", "cookie: a=b\r\n", "cookie: c=d\r\n"],
  ...["connection: keep-alive\r\n", "Connection: Keep-Alive\r\n", "connection: close\r\n", "set-cookie: a\r\n"],
  ...["connection: close, x\r\n", "expect: 100-continue\r\n", "upgrade: h2c\r\n", "te: trailers\r\n", "trailer: x\r\n"],
  ...["x-empty:\r\n", "x-latin: \xe4\xf6\r\n", "x-space:  \t a b \t \r\n", "referer: a\r\n", "referer: b\r\n"],
];
const targets = ["/", "/now", "/later", "/a?b=c#d", "/%00", "/\xe4", "*", "http://h/x", "//h/x", "/a b", "/'\"<>"];
const methods = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "post", "PROPFIND"];
const longBody = 70_000;

/** Returns what a client sends on one connection. */
export function anyRequests(random: Random): string {
  const count = 1 + Math.floor(random() * 3);
  const first = anyRequest(random);
  // Heads that come again are told by their bytes.
  const isAlike = random() < 0.5;
  const text = Array.from({ length: count }, (_, i) => (i === 0 || isAlike ? first : anyRequest(random))).join("");
  return random() < 0.75 ? mutatedText(text, random) : text;
}

function anyRequest(random: Random): string {
  const isPost = random() < 0.75;
  const line = `${isPost ? "POST" : pick(methods, random)} ${random() < 0.8 ? "/now" : pick(targets, random)} HTTP/1.1\r\n`;
  const more = Array.from({ length: Math.floor(random() * 4) }, () => pick(fields, random)).join("");
  const host = random() < 0.95 ? "host: h\r\n" : "";
  const body = bodyOf(random);
  if (!isPost && random() < 0.7) return `${line}${host}${more}\r\n`;
  if (random() < 0.3) return `${line}${host}transfer-encoding: chunked\r\n${more}\r\n${inChunks(body, random)}`;
  return `${line}${host}${more}content-length: ${body.length}\r\n\r\n${body}`;
}

function bodyOf(random: Random): string {
  const kind = random();
  if (kind < 0.02) return "b".repeat(longBody);
  return kind < 0.2
    ? ""
    : pick(["{}", "hello", "GET /other HTTP/1.1\r\nhost: h\r\n\r\n", "\r\n\r\n", "0\r\n\r\n"], random);
}

function inChunks(body: string, random: Random): string {
  const at = Math.floor(random() * body.length);
  const parts = [body.slice(0, at), body.slice(at)].filter((part) => part !== "");
  const extension = random() < 0.1 ? pick([";a=b", ';a="b"', ";a", "; a = b"], random) : "";
  const end = random() < 0.1 ? "0\r\nx-end: 1\r\n\r\n" : "0\r\n\r\n";
  return parts.map((part) => `${part.length.toString(16)}${extension}\r\n${part}\r\n`).join("") + end;
}
