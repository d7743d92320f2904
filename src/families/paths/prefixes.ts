/** Prefixes of paths: `tools[0]` and `tools` are those of `tools[0].name`. */

/**
 * longestPrefix is how many characters of a path are looked at. A path has members of the caller's own naming, with as many points in it as
 * the caller likes.
 */
const longestPrefix = 120;

/** prefixesOf returns the prefixes of a path, the longest first, and itself before them. */
function prefixesOf(path: string): string[] {
  const ends = [...path.slice(0, longestPrefix).matchAll(/[.[]/g)].map(({ index }) => index);
  return [path, ...ends.reverse().map((end) => path.slice(0, end))];
}

/** byPrefix gives the longest known prefix of a path its other name. Returns undefined where none is known. */
export function byPrefix(path: string, names: ReadonlyMap<string, string>): string | undefined {
  const known = prefixesOf(path).find((prefix) => names.has(prefix));
  return known === undefined ? undefined : names.get(known) + path.slice(known.length);
}

/** isWithin reports whether a path is a part of one of these. */
export function isWithin(path: string, wholes: ReadonlySet<string>): boolean {
  return prefixesOf(path).some((prefix) => prefix !== path && wholes.has(prefix));
}
