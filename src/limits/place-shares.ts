/** Divides places among the processes that want some. `redis/scripts.ts` says the same to Redis. */
import type { PlaceKeeper, PlacesAsk, PlacesGrant } from "./places.ts";

/** PlaceLease is what a process said last. */
export interface PlaceLease {
  readonly held: number;
  readonly wanted: number;
  /** Since when it has fewer than it wants, or, where it has not, since when it has what it has. */
  readonly since: number;
  readonly until: number;
}

/** placesMs is how long a lease lives without a word of its process. */
export const placesMs = 5_000;

/** grantPlaces decides on an ask, and puts it into `leases`, which are those of all processes by their names. */
function grantPlaces(leases: Map<string, PlaceLease>, node: string, ask: PlacesAsk, now: number): PlacesGrant {
  const { places, running, wanted, isTrial = false } = ask;
  const before = leases.get(node);
  for (const [name, { until }] of leases) if (until <= now) leases.delete(name);
  leases.delete(node);
  const since = before && before.until > now && before.wanted > before.held ? before.since : now;
  const others = [...leases.values()].reduce((sum, { held }) => sum + held, 0);
  if (isTrial) {
    const granted = Math.max(running, Math.min(wanted, places - others));
    if (granted > 0) leases.set(node, { held: granted, wanted: granted, since: now, until: now + placesMs });
    return { granted, isShort: granted < wanted };
  }
  const { share, isShort } = shareOf(places, { wanted, since }, [...leases.values()]);
  const granted = Math.max(running, Math.min(wanted, share, places - others));
  if (wanted > 0) {
    const isServed = granted > running || granted >= wanted;
    leases.set(node, { held: granted, wanted, since: isServed ? now : since, until: now + placesMs });
  }
  return { granted, isShort };
}

type Wish = Pick<PlaceLease, "wanted" | "since">;

/** shareOf returns the equal part of who wants `mine`. What cannot be divided goes to those that have waited longest. */
function shareOf(places: number, mine: Wish, others: readonly Wish[]): { share: number; isShort: boolean } {
  let [left, sharing] = [places, others.length + 1];
  for (const { wanted } of [mine, ...others].sort((a, b) => a.wanted - b.wanted)) {
    if (wanted * sharing > left) break;
    left -= wanted;
    sharing--;
  }
  if (sharing === 0) return { share: mine.wanted, isShort: false };
  const equal = Math.floor(left / sharing);
  const earlier = others.filter(({ wanted, since }) => wanted > equal && since < mine.since).length;
  return { share: equal + (earlier < left - equal * sharing ? 1 : 0), isShort: true };
}

/** createMemoryPlaces keeps places in this process. `of` returns the keeper as a process sees it. */
export function createMemoryPlaces(clock: () => number, nodes: () => number): { of(node: string): PlaceKeeper } {
  const byName = new Map<string, Map<string, PlaceLease>>();
  return {
    of: (node) => ({
      ask(ask) {
        const leases = byName.get(ask.name) ?? new Map<string, PlaceLease>();
        byName.set(ask.name, leases);
        const grant = grantPlaces(leases, node, ask, clock());
        if (leases.size === 0) byName.delete(ask.name);
        return grant;
      },
      isAway: () => false,
      nodes,
      onReturn: () => () => {},
    }),
  };
}
