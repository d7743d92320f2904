/**
 * Tells how far a replica is behind: by positions in the primary's log, each with the moment at which this process saw it. So no clock of
 * another machine counts, an idle primary is not taken for a lagging replica, and one that is cut off from its primary is noticed. So is one
 * that has more than the primary, as of a server that this one has taken over from: it has calls that the primary never had.
 */

export interface Lag {
  /** primaryAt says where the primary's log ends at this moment. */
  primaryAt(position: number): void;
  /** replicaAt says up to where the replica has it. */
  replicaAt(position: number): void;
  /** Returns for how long what the replica has was not looked at or was not all, in milliseconds; undefined where nobody knows. */
  ms(): number | undefined;
  /** Reports whether the replica has what the primary has not. */
  isAhead(): boolean;
}

interface Seen {
  readonly at: number;
  readonly position: number;
}

/** mostSeen is how many looks are remembered: more than the longest lag needs that may be allowed. */
const mostSeen = 4000;

/** createLag creates what knows how far a replica is behind. `clock` is in milliseconds, and never goes back. */
export function createLag(clock: () => number = () => performance.now()): Lag {
  /** seen is what was seen of the primary and is not known to be at the replica, behind the last that is. */
  let seen: Seen[] = [];
  let known: Seen | undefined;
  /** told is what the replica had before the primary was looked at last, and end what that had then. */
  let [told, end] = [0, 0];
  let isAhead = false;
  return {
    primaryAt(position) {
      const wasAhead = isAhead;
      isAhead = told > position;
      // A primary that took over may have less. Of one that was ahead of it no look before this one counts.
      if (isAhead || wasAhead || position < end) [seen, known] = [[], undefined];
      end = position;
      seen.push({ at: clock(), position });
      if (seen.length > mostSeen) seen.shift();
    },
    replicaAt(position) {
      told = position;
      isAhead &&= position > end;
      if (isAhead) return;
      const missing = seen.findIndex((one) => one.position > position);
      const here = missing === -1 ? seen.length : missing;
      if (here > 0) known = seen[here - 1];
      seen = seen.slice(here);
    },
    ms: () => known && clock() - known.at,
    isAhead: () => isAhead,
  };
}
