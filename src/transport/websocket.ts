/**
 * Handshakes for responses over a WebSocket, which is not served: agents try it before anything else, and go on by HTTP at once
 * only where they are told 426. Every other `Upgrade` is ignored, as RFC 9110, 7.8 allows: the request is answered as it is.
 */
import type { IncomingMessage } from "node:http";

const paths: ReadonlySet<string> = new Set(["/v1/responses", "/responses", "/api/v1/responses"]);

/** Whether a request begins a WebSocket for responses. HTTP/1.0 has no `Upgrade`. */
export function asksForResponsesSocket(req: IncomingMessage, path: string): boolean {
  const { upgrade } = req.headers;
  if (upgrade === undefined || req.method !== "GET" || req.httpVersion !== "1.1" || !paths.has(path)) return false;
  return upgrade.split(",").some((protocol) => protocol.trim().toLowerCase() === "websocket");
}
