/**
 * Slices of buckets, and places at upstreams, that the owner of a worker keeps: so the workers of a machine share rates and places as one
 * process would. While there is no owner they are away: each worker then takes its share.
 */
import type { Link } from "../../runtime/ipc/link.ts";
import type { Slices } from "../contract.ts";
import type { PlaceKeeper } from "../places.ts";
import type { LimitQuestions } from "./contract.ts";

export interface OwnerLimits {
  readonly slices: Slices;
  readonly places: PlaceKeeper;
}

/** `nodes` is the number of workers. */
export function askOwner(link: Link, nodes: number): OwnerLimits {
  const { ask, tell } = link.by<LimitQuestions>();
  const away = { isAway: link.isClosed, nodes: () => nodes };
  return {
    slices: {
      take: (asks) => ask("slices.take", asks),
      giveBack: (unused) => tell("slices.giveBack", unused),
      ...away,
    },
    places: { ask: (asked) => ask("places.ask", asked), onReturn: link.onConnect, ...away },
  };
}
