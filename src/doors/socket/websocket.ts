/**
 * Handshakes for responses over a WebSocket. Where that is not served they are told 426: agents try it before anything else, and
 * go on by HTTP at once only upon that. Every other `Upgrade` is ignored, as RFC 9110, 7.8 allows: the request is answered as it
 * is.
 *
 * `Origin` is not looked at: a page of a browser can send neither a key nor `x-gateway-key` with a handshake, and the cookie that
 * it does send is not enough to call a model.
 */
import type { IncomingMessage } from "node:http";
import { type Refusal, socketHandshakeFaulty, socketVersionNotServed } from "../../call/refusals.ts";

const paths: ReadonlySet<string> = new Set(["/v1/responses", "/responses", "/api/v1/responses"]);

/** Whether a request begins a WebSocket for responses. HTTP/1.0 has no `Upgrade`. */
export function asksForResponsesSocket(req: IncomingMessage, path: string): boolean {
  const { upgrade } = req.headers;
  if (upgrade === undefined || req.method !== "GET" || req.httpVersion !== "1.1" || !paths.has(path)) return false;
  return upgrade.split(",").some((protocol) => protocol.trim().toLowerCase() === "websocket");
}

/** Says what is wrong with a handshake (RFC 6455, 4.2.1), if anything is. */
export function handshakeFault({ headers }: IncomingMessage): Refusal | undefined {
  if (headers["sec-websocket-version"] !== "13") return socketVersionNotServed();
  if (headers.host === undefined) return socketHandshakeFaulty("host");
  if (/^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "")) return undefined;
  return socketHandshakeFaulty("sec-websocket-key");
}
