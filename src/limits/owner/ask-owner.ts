/**
 * Slices of buckets, and places at upstreams, that the owner of a worker keeps: so the workers of a machine share rates and places as one
 * process would. They are away once the owner has died, which is the end of the worker, too.
 */
import type { Channel } from "../../runtime/ipc/channel.ts";
import type { Slices } from "../contract.ts";
import type { PlaceKeeper } from "../places.ts";
import type { LimitQuestions } from "./contract.ts";

export interface OwnerLimits {
  readonly slices: Slices;
  readonly places: PlaceKeeper;
}

/** `nodes` is the number of workers. */
export function askOwner(channel: Channel, nodes: number): OwnerLimits {
  const { ask, tell } = channel.by<LimitQuestions>();
  const away = { isAway: channel.isClosed, nodes: () => nodes };
  return {
    slices: {
      take: (asks) => ask("slices.take", asks),
      giveBack: (unused) => tell("slices.giveBack", unused),
      ...away,
    },
    places: { ask: (asked) => ask("places.ask", asked), ...away },
  };
}
