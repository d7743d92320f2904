/** Answers of HTTP/1.1 as a server may send them: most sound, and some of them mutated. */
import { pick, type Random } from "../support/run/random.ts";
import { mutatedText } from "./cut.ts";

const statuses = [
  "200 OK",
  "200",
  "200 ",
  "201 Made",
  "404 Not Found",
  "500 x",
  "204 No Content",
  "304 x",
  "205 x",
  "599 x",
];
const interims = ["103 Early Hints", "102 Processing", "100 Continue", "103 x\r\nlink: </a>", "199 x"];
const fields = [
  ...["content-type: application/json\r\n", "X-One: 1\r\n", "x-one: 2\r\n", "set-cookie: a\r\n", "set-cookie: b\r\n"],
  ...[
    "connection: close\r\n",
    "connection: keep-alive\r\n",
    "Connection: Keep-Alive, x\r\n",
    "keep-alive: timeout=5\r\n",
  ],
  ...["x-empty:\r\n", "x-latin: \xe4\xf6\r\n", "x-space:  \t a b \t \r\n", "trailer: x-end\r\n", "date: now\r\n"],
];
const bodies = ["{}", "hello", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno", "\r\n\r\n", "0\r\n\r\n", "\0\xff"];

/** `text` is the sound one, or that with faults. */
export function anyReply(random: Random): { readonly sound: string; readonly text: string } {
  const interim = random() < 0.15 ? `HTTP/1.1 ${pick(interims, random)}\r\n\r\n` : "";
  const version = random() < 0.9 ? "HTTP/1.1" : "HTTP/1.0";
  const line = `${version} ${random() < 0.7 ? "200 OK" : pick(statuses, random)}\r\n`;
  const more = Array.from({ length: Math.floor(random() * 4) }, () => pick(fields, random)).join("");
  const sound = `${interim}${line}${more}${framed(pick(bodies, random), random)}`;
  return { sound, text: random() < 0.7 ? mutatedText(sound, random) : sound };
}

/** A body with the end of its head. */
function framed(body: string, random: Random): string {
  const kind = random();
  if (kind < 0.4) return `content-length: ${body.length}\r\n\r\n${body}`;
  if (kind < 0.5) return `\r\n${body}`;
  if (kind < 0.6) return "content-length: 0\r\n\r\n";
  const at = Math.floor(random() * body.length);
  const parts = [body.slice(0, at), body.slice(at)].filter((part) => part !== "");
  const extension = random() < 0.2 ? pick([";a=b", ';a="b"', ";a", "; a = b", " ;a", " "], random) : "";
  const end = random() < 0.2 ? `0${extension}\r\nx-end: 1\r\n\r\n` : "0\r\n\r\n";
  const chunks = parts.map((part) => `${part.length.toString(16)}${extension}\r\n${part}\r\n`).join("");
  return `transfer-encoding: chunked\r\n\r\n${chunks}${end}`;
}
