/** The connections that became WebSockets. Node's server no longer knows them, so a closing listener closes them by this set. */
import type { Socket } from "node:net";
import type { Upgraded } from "../socket/responses-sockets.ts";
import type { OpenConnection } from "./connections.ts";

export interface UpgradedConnections {
  /** Adds a connection. One that comes after `close` is closed at once. */
  add(upgraded: Upgraded, socket: Socket, connection: OpenConnection | undefined): void;
  /** Closes each connection after the answer that runs on it. */
  close(): void;
  /** Closes all connections, whatever runs. */
  cut(): void;
}

export function createUpgradedConnections(): UpgradedConnections {
  const open = new Set<Upgraded>();
  let isClosing = false;
  return {
    add(upgraded, socket, connection) {
      open.add(upgraded);
      socket.once("close", () => open.delete(upgraded));
      if (connection) {
        connection.protocol = "websocket";
        connection.isIdle = () => upgraded.isIdle;
        // The credential of its handshake was admitted.
        connection.isKeyless = () => false;
        connection.isReceiving = () => !upgraded.isAnswering;
      }
      if (isClosing) upgraded.close();
    },
    close() {
      isClosing = true;
      for (const upgraded of open) upgraded.close();
    },
    cut() {
      for (const upgraded of open) upgraded.cut();
    },
  };
}
