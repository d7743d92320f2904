/**
 * The order in which what waits is taken: networks in rotation, of each network its connections in rotation, and of each connection what
 * came first. So hundreds of connections of one network hold up no other network, and one connection with hundreds of requests no other
 * connection.
 */
import type { Socket } from "node:net";
import { unmapped } from "../../call/address-list.ts";
import { networkOf } from "../../runtime/net/networks.ts";

/** Origin is where something came from. */
export interface Origin {
  /** The network that counts as one client (`runtime/net/networks.ts`). */
  readonly network: string;
  readonly connection: object;
}

/** originOf returns where a connection comes from; `connection` is what stands for it, such as its session. A closed one has no address. */
export function originOf(socket: Pick<Socket, "remoteAddress">, connection: object = socket): Origin {
  return { network: networkOf(unmapped(socket.remoteAddress ?? "")), connection };
}

export interface Rotation<T> {
  /** Adds what came last. */
  add(origin: Origin, item: T): void;
  /** Removes and returns what is next, of the networks of which something may be taken; undefined where there is none. */
  take(mayBeTaken: (network: string) => boolean): T | undefined;
  isEmpty(): boolean;
}

export function createRotation<T>(): Rotation<T> {
  /** The network that was served longest ago comes first, and so does each network's connection. A line without items is removed. */
  const networks = new Map<string, Map<object, T[]>>();
  return {
    add({ network, connection }, item) {
      const lines = networks.get(network) ?? new Map<object, T[]>();
      networks.set(network, lines);
      const line = lines.get(connection);
      if (line) line.push(item);
      else lines.set(connection, [item]);
    },
    take(mayBeTaken) {
      for (const [network, lines] of networks) {
        if (!mayBeTaken(network)) continue;
        const [connection, line] = lines.entries().next().value as [object, T[]];
        const taken = line.shift();
        lines.delete(connection);
        if (line.length > 0) lines.set(connection, line);
        networks.delete(network);
        if (lines.size > 0) networks.set(network, lines);
        return taken;
      }
      return undefined;
    },
    isEmpty: () => networks.size === 0,
  };
}
