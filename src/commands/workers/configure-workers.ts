/** The workers that have joined an owner, and how they come to serve by another configuration: all of its own generation, at once. */
import { setTimeout as delay } from "node:timers/promises";
import { type Channel, ClosedError } from "../../runtime/ipc/channel.ts";
import type { Configured, ConfigureQuestions } from "./contract.ts";

export interface Joined {
  /** Adds a worker, and has it serve by a configuration if it is of the owner's generation. */
  add(channel: Channel, generation: number, configured: Configured): void;
  /** Returns the workers of the owner's generation. */
  own(): readonly Channel[];
  /** Resolves when all are gone, or after `maxMs` milliseconds. */
  ended(maxMs: number): Promise<void>;
}

/** configureMs is how long a change of the configuration waits for a worker that has not taken it, in milliseconds. */
const configureMs = 1_000;

export function createJoined(ownGeneration: number): Joined {
  const all = new Map<Channel, number>();
  const own = () => [...all].flatMap(([channel, generation]) => (generation === ownGeneration ? [channel] : []));
  return {
    add(channel, generation, configured) {
      all.set(channel, generation);
      void channel.closed.then(() => all.delete(channel));
      if (generation === ownGeneration) channel.by<ConfigureQuestions>().tell("worker.configure", configured);
    },
    own,
    async ended(maxMs) {
      const late = delay(maxMs, undefined, { ref: false });
      await Promise.race([Promise.all([...all.keys()].map(({ closed }) => closed)), late]);
    },
  };
}

/** configureAll has all workers of an owner's generation serve by a configuration. Resolves once they do; rejects where one cannot. */
export async function configureAll(joined: Pick<Joined, "own">, configured: Configured): Promise<void> {
  const told = joined.own().map(async (channel) => {
    const late = delay(configureMs, undefined, { ref: false });
    const asking = channel.by<ConfigureQuestions>().ask("worker.configure", configured);
    // One that ends needs none.
    const taken = asking.then(undefined, (error: unknown) => {
      if (!(error instanceof ClosedError)) throw error;
    });
    await Promise.race([taken, late]);
  });
  await Promise.all(told);
}
