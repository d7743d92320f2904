/**
 * Handshakes for responses over a WebSocket. Where that is not served they get a 426: agents try a WebSocket first, and only
 * upon that status go on by HTTP at once. Every other `Upgrade` is ignored, as RFC 9110, 7.8 allows, and the request answered
 * without it.
 *
 * `Origin` is not checked: a page in a browser can send neither a key nor `x-gateway-key` with a handshake, and the cookie that it
 * does send is not enough to call a model.
 */
import type { IncomingMessage } from "node:http";
import { type Refusal, socketHandshakeFaulty, socketVersionNotServed } from "../../call/refusals.ts";

const paths: ReadonlySet<string> = new Set(["/v1/responses", "/responses", "/api/v1/responses"]);

/** asksForResponsesSocket reports whether a request is a handshake for responses. HTTP/1.0 has no `Upgrade`. */
export function asksForResponsesSocket(req: IncomingMessage, path: string): boolean {
  const { upgrade } = req.headers;
  if (upgrade === undefined || req.method !== "GET" || req.httpVersion !== "1.1" || !paths.has(path)) return false;
  return upgrade.split(",").some((protocol) => protocol.trim().toLowerCase() === "websocket");
}

/** handshakeFault returns what is wrong with a handshake (RFC 6455, 4.2.1); undefined where nothing is. */
export function handshakeFault({ headers }: IncomingMessage): Refusal | undefined {
  if (headers["sec-websocket-version"] !== "13") return socketVersionNotServed();
  if (headers.host === undefined) return socketHandshakeFaulty("host");
  if (/^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "")) return undefined;
  return socketHandshakeFaulty("sec-websocket-key");
}
