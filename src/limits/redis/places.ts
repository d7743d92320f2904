/** Places in Redis or Valkey: one key an upstream, or an API key, with a lease a node, and one script a question. */
import type { PlaceKeeper } from "../places.ts";
import { type Connection, type ConnectionOptions, within } from "./connection.ts";
import { placesScript } from "./scripts.ts";

export interface RedisPlacesOptions extends Pick<ConnectionOptions, "node" | "timeoutMs"> {
  /** prefix is what every key begins with. */
  readonly prefix: string;
}

/** createRedisPlaces creates the keeper of places in Redis. `onAnswer` is called with the milliseconds that an answer took. */
export function createRedisPlaces(
  connection: Connection,
  { node, timeoutMs, prefix }: RedisPlacesOptions,
  onAnswer: (ms: number) => void,
): PlaceKeeper {
  return {
    async ask({ name, places, running, wanted, isTrial = false }) {
      const begunAt = performance.now();
      try {
        const asked = connection.run(placesScript, `${prefix}places:${name}`, [
          ...[node, places, running, wanted],
          isTrial ? 1 : 0,
        ]);
        const [granted, short] = (await within(timeoutMs, asked)) as [number, number];
        onAnswer(performance.now() - begunAt);
        return { granted, isShort: short === 1 };
      } catch (error) {
        connection.failed(error);
        throw error;
      }
    },
    isAway: connection.isAway,
    nodes: connection.nodes,
    onReturn: connection.onReturn,
  };
}
