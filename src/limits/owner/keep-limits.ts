/** Keeps the buckets and places of all workers, in the memory of their owner. */
import type { Channel } from "../../runtime/ipc/channel.ts";
import { createMemorySlices } from "../memory.ts";
import { createMemoryPlaces } from "../place-shares.ts";
import type { LimitQuestions } from "./contract.ts";

/**
 * keepLimits returns what answers a worker by the name that it has among the workers. What a worker that dies has of slices is lost, so
 * that no rate is exceeded; its places are there again at once, for its calls have ended with its connections.
 */
export function keepLimits(
  clock: () => number,
  workers: () => number,
): (channel: Pick<Channel, "answer" | "closed">, worker: string) => void {
  const slices = createMemorySlices(clock, workers);
  const places = createMemoryPlaces(clock, workers);
  return (channel, worker) => {
    const keeper = places.of(worker);
    const asked = new Map<string, number>();
    channel.answer<LimitQuestions>({
      "slices.take": slices.take,
      "slices.giveBack": slices.giveBack,
      "places.ask": (ask) => {
        if (ask.wanted > 0) asked.set(ask.name, ask.places);
        else asked.delete(ask.name);
        return keeper.ask(ask);
      },
    });
    void channel.closed.then(() => {
      for (const [name, count] of asked) void keeper.ask({ name, places: count, running: 0, wanted: 0 });
    });
  };
}
