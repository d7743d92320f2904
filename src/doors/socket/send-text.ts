/** Sends a text message on a WebSocket, unless it is closing: then there is no reader. */
import type { WebSocket } from "ws";

export function sendText(ws: WebSocket, text: Buffer): void {
  if (ws.readyState === ws.OPEN) ws.send(text, { binary: false });
}
