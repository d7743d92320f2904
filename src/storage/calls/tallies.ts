/** Sums of calls or attempts: of all, of each group, and of each group in each bucket of time. */

/** Tallies have a sum of one kind for each. */
export interface Tallies<T> {
  readonly total: T;
  readonly groups: Map<string, T>;
  /** buckets are by their beginnings, in milliseconds since 1970, then by group. */
  readonly buckets: Map<number, Map<string, T>>;
}

export function newTallies<T>(make: () => T): Tallies<T> {
  return { total: make(), groups: new Map(), buckets: new Map() };
}

/** TalliedAt is where something counts: in its groups, in the bucket that begins at `beginsAt`. */
export interface TalliedAt {
  readonly groups: readonly string[];
  readonly beginsAt: number;
}

/** addTo calls `count` with each sum in which something counts; `make` makes those that are not there yet. */
export function addTo<T>(
  { total, groups: ofGroups, buckets }: Tallies<T>,
  { groups, beginsAt }: TalliedAt,
  make: () => T,
  count: (tally: T) => void,
): void {
  const bucket = buckets.getOrInsertComputed(beginsAt, () => new Map<string, T>());
  count(total);
  for (const group of groups) for (const tallies of [ofGroups, bucket]) count(tallies.getOrInsertComputed(group, make));
}

/** sumsByTime returns what `sumOf` makes of the sums of these groups, oldest first; a bucket without a group has no sum of it. */
export function sumsByTime<T, S>(
  { buckets }: Pick<Tallies<T>, "buckets">,
  groups: readonly string[],
  sumOf: (beginsAt: number, group: string, tally: T) => S,
): S[] {
  return [...buckets]
    .sort(([one], [other]) => one - other)
    .flatMap(([beginsAt, bucket]) =>
      groups.flatMap((group) => {
        const tally = bucket.get(group);
        return tally === undefined ? [] : [sumOf(beginsAt, group, tally)];
      }),
    );
}
