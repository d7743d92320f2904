/** Keeps places as the owner of workers does: another may take its place, which knows nothing, and whoever asks notices only then. */
import { createMemoryPlaces } from "../../../src/limits/place-shares.ts";
import type { PlaceKeeper, PlacesGrant } from "../../../src/limits/places.ts";

export interface Relay {
  /** Returns the keeper as a process of that name sees it. */
  of(name: string): PlaceKeeper;
  /** Leaves what is asked from now on without an answer, until another takes the keeper's place. */
  hold(): void;
  /** Puts another in the keeper's place. What waits for an answer is refused, after processes were told of the other. */
  replace(): void;
}

export function createRelay(): Relay {
  const fresh = () =>
    createMemoryPlaces(
      () => performance.now(),
      () => 2,
    );
  const returns = new Set<() => void>();
  const waiting: (() => void)[] = [];
  let places = fresh();
  let isHeld = false;
  const unanswered = () =>
    new Promise<PlacesGrant>((_, reject) => waiting.push(() => reject(new Error("the keeper is gone"))));
  return {
    of: (name) => ({
      ask: (ask) => (isHeld ? unanswered() : places.of(name).ask(ask)),
      isAway: () => false,
      nodes: () => 2,
      onReturn(listener) {
        returns.add(listener);
        return () => returns.delete(listener);
      },
    }),
    hold() {
      isHeld = true;
    },
    replace() {
      places = fresh();
      isHeld = false;
      for (const listener of returns) listener();
      for (const refuse of waiting.splice(0)) refuse();
    },
  };
}
