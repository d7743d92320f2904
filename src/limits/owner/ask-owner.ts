/**
 * Slices of buckets, and places at upstreams, that the owner of a worker keeps: so the workers of a machine share rates and places as one
 * process would. While there is no owner, or it stands still, they are away: each worker then takes its share.
 */
import { silentAfterMs } from "../../runtime/ipc/hearing.ts";
import type { Link } from "../../runtime/ipc/link.ts";
import type { Ask, Slice, Slices } from "../contract.ts";
import type { PlaceKeeper } from "../places.ts";
import type { LimitQuestions } from "./contract.ts";

export interface OwnerLimits {
  readonly slices: Slices;
  readonly places: PlaceKeeper;
}

/** askOwner returns the slices and places that the owner keeps. `nodes` is the number of workers. */
export function askOwner(link: Link, nodes: number): OwnerLimits {
  const { ask, tell } = link.by<LimitQuestions>();
  const { silentMs, whileHeard, onChange } = link.hearing;
  const isSilent = () => silentMs() >= silentAfterMs;
  const away = { isAway: () => link.isClosed() || isSilent(), nodes: () => nodes };
  return {
    slices: {
      take: (asks) =>
        whileHeard(ask("slices.take", asks), silentAfterMs, (slices) =>
          tell("slices.giveBack", unusedOf(asks, slices)),
        ),
      giveBack: (unused) => tell("slices.giveBack", unused),
      ...away,
    },
    places: {
      ask: (asked) => whileHeard(ask("places.ask", asked), silentAfterMs),
      onReturn(listener) {
        const forget = link.onConnect(listener);
        const forgetSilence = onChange(() => {
          // The owner may have places by now that it did not give while it stood still.
          if (!isSilent()) listener();
        });
        return () => {
          forget();
          forgetSilence();
        };
      },
      ...away,
    },
  };
}

/** unusedOf returns what comes of an answer that nobody waited for: what was granted, and what was drawn, which is told again. */
function unusedOf(asks: readonly Ask[], slices: readonly Slice[]) {
  return asks.map(({ id, rate, drawn }, place) => ({ id, rate, units: (slices[place]?.units ?? 0) + drawn }));
}
