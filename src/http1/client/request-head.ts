/** The heads of requests to one server. Most begin like the one before: that beginning is written once. */
import { writeFields } from "../fields.ts";
import { byteLength } from "../write-message.ts";
import type { UpstreamRequest } from "./contract.ts";

const forbidden = /[^\x21-\x7e]/;

/** checkPath throws TypeError for a path with characters that would end or split the request line. */
export function checkPath(path: string): void {
  if (forbidden.test(path)) throw new TypeError("the path of a request has forbidden characters");
}

/**
 * createHeadWriter creates a function that writes the head of a request. It throws TypeError for a path or a field value that is forbidden.
 */
export function createHeadWriter(host: string): (request: UpstreamRequest) => string {
  const own = `host: ${host}\r\nconnection: keep-alive\r\n`;
  /** last is how the request before began. */
  let last = { method: "", path: "", common: "", text: "" };

  function beginningOf({ method, path, common = "" }: UpstreamRequest): string {
    if (path === last.path && method === last.method && common === last.common) return last.text;
    checkPath(path);
    const text = [method, " ", path, " HTTP/1.1\r\n", own, common].join("");
    last = { method, path, common, text };
    return text;
  }

  return (request) => {
    const { fields, body } = request;
    const length = body === undefined ? "" : `content-length: ${byteLength(body)}\r\n`;
    return `${beginningOf(request)}${writeFields(fields)}${length}\r\n`;
  };
}
