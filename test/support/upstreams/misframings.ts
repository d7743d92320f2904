/** Answers whose ends can be read in two ways, or that are none. */
import { answered } from "./misbehaving-server.ts";
import {
  atOnce,
  bodyless,
  both,
  chunkOf,
  evil,
  framed,
  length,
  plain,
  type Row,
  type Text,
  timedOut,
  withHead,
} from "./misbehaviour.ts";

const bodyInDoubt: readonly Row[] = [
  ...both("answers 204 with a length", bodyless("204 No Content", `content-length: ${evil.length}\r\n`)),
  ...both("answers 304 with a length", bodyless("304 Not Modified", `content-length: ${evil.length}\r\n`)),
  ...both("answers 204 in chunks", bodyless("204 No Content", "transfer-encoding: chunked\r\n")),
  ...both("answers 304 in chunks", bodyless("304 Not Modified", "transfer-encoding: chunked\r\n")),
  ...both(
    "announces a body of an interim answer",
    (id) => `HTTP/1.1 103 Hints\r\nx-call: ${id}\r\ncontent-length: ${evil.length}\r\n\r\n`,
    "fail",
  ),
  ...both("tells two lengths", framed("content-length: 2\r\ncontent-length: 200\r\n", plain), "fail"),
  ...both("tells a list of lengths", framed("content-length: 2, 2\r\n", plain), "fail"),
  ...both(
    "tells a length and chunks",
    framed("content-length: 2\r\ntransfer-encoding: chunked\r\n", (id) => `${chunkOf(id)}0\r\n\r\n`),
    "fail",
  ),
  ...both("names a coding behind chunks", framed("transfer-encoding: chunked, gzip\r\n", plain), "fail").map(timedOut),
  ...both("names chunks twice", framed("transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n", plain), "fail"),
  timedOut(atOnce("names a coding of its own", framed("transfer-encoding: xchunked\r\n", plain), "fail")),
  ...both(
    "answers in chunks by HTTP/1.0",
    (id) => `HTTP/1.0 200 OK\r\nx-call: ${id}\r\ntransfer-encoding: chunked\r\n\r\n${chunkOf(id)}0\r\n\r\n`,
    "fail",
  ),
  atOnce("tells a negative length", framed("content-length: -2\r\n", plain), "fail"),
  atOnce("tells a length of 2^64", framed("content-length: 18446744073709551616\r\n", plain), "fail"),
];

const chunks: readonly Row[] = [
  ["ends a chunk late", (id: string) => `2\r\n${id}\r\n0\r\n\r\n`],
  ["ends a chunk with LF", (id: string) => `${id.length.toString(16)}\r\n${id}\n0\r\n\r\n`],
  ["ends a size with LF", (id: string) => `${id.length.toString(16)}\n${id}\r\n0\r\n\r\n`],
  ["tells a chunk of 2^64", () => "10000000000000000\r\n"],
  ["tells a chunk of 2^64 with zeros before it", () => "0000000000000010000000000000000\r\n"],
  ["tells a chunk in 0x", () => "0x5\r\nhello\r\n0\r\n\r\n"],
  ["tells a chunk with a sign", () => "+5\r\nhello\r\n0\r\n\r\n"],
  ["tells a negative chunk", () => "-5\r\nhello\r\n0\r\n\r\n"],
  ["tells no size", () => "\r\n0\r\n\r\n"],
  ["has NUL in an extension", (id: string) => `${id.length.toString(16)};a=\0\r\n${id}\r\n0\r\n\r\n`],
  ["has CR in an extension", (id: string) => `${id.length.toString(16)};a=\rb\r\n${id}\r\n0\r\n\r\n`],
  ["has an extension of 10 MB", () => `5;${"a".repeat(10_000_000)}\r\nhello\r\n0\r\n\r\n`],
  ["has a trailer without colon", (id: string) => `${chunkOf(id)}0\r\nHTTP/1.1 200 OK\r\n\r\n`],
  ["has a trailer with space before its colon", (id: string) => `${chunkOf(id)}0\r\nx : y\r\n\r\n`],
  ["has a trailer that ends with LF", (id: string) => `${chunkOf(id)}0\r\nx: y\n\r\n`],
  ["has a folded trailer", (id: string) => `${chunkOf(id)}0\r\nx: y\r\n z\r\n\r\n`],
  ["has NUL in a trailer", (id: string) => `${chunkOf(id)}0\r\nx: \0\r\n\r\n`],
  ["has 1 MB of trailers", (id: string) => `${chunkOf(id)}0\r\n${`x: ${"y".repeat(996)}\r\n`.repeat(1000)}\r\n`],
].map(([name, body]) => atOnce(name as string, framed("transfer-encoding: chunked\r\n", body as Text), "fail"));

const heads: readonly Row[] = [
  ...[
    ["folds a field", "x: a\r\n b\r\n"],
    ["ends a field with LF", "x: a\ny: b\r\n"],
    ["has CR in a value", "x: a\rb\r\n"],
    ["has NUL in a value", "x: a\0b\r\n"],
    ["has NUL in a name", "x\0: a\r\n"],
    ["has a space before a colon", "content-length : 500\r\n"],
    ["has a field without a colon", "content-length\r\n"],
    ["has a field without a name", ": x\r\n"],
    ["has a head of 64 KB", `x: ${"a".repeat(65_536)}\r\n`],
    ["has a head of 1 MB", `x: ${"a".repeat(998)}\r\n`.repeat(1_024)],
  ].map(([name = "", lines = ""]) => atOnce(name, withHead(lines), "fail")),
  ...["HTTP/1.1 2000 OK", "HTTP/1.1 20 OK", "HTTP/2.0 200 OK", "HTTP/1.1200 OK", "HTTP/1.1 200 O\0K", "SSH-2.0-x"].map(
    (line) => atOnce(`begins with ${JSON.stringify(line)}`, (id) => `${line}\r\n${length(id)}\r\n${id}`, "fail"),
  ),
  atOnce("ends all lines with LF", (id) => answered(id).replaceAll("\r\n", "\n"), "fail"),
  atOnce(
    "changes its protocol",
    (id) => `HTTP/1.1 101 Go\r\nupgrade: x\r\nconnection: upgrade\r\nx-call: ${id}\r\n\r\n`,
    "fail",
  ),
];

export const misframings: readonly Row[] = [...bodyInDoubt, ...chunks, ...heads];
