/**
 * The versions that were saved in this window. A form that was open while another one here was saved is not in conflict with that: it goes
 * on from the version that came of it, if nobody else's is between.
 */
const next = new Map<number, number>();

/** noteSave notes that a version was saved onto a base. */
export function noteSave(base: number, version: number): void {
  if (version === base + 1) next.set(base, version);
}

/** baseAfter returns the version that is the base now, of a form that was opened at a version. */
export function baseAfter(version: number): number {
  let base = version;
  for (let after = next.get(base); after !== undefined; after = next.get(base)) base = after;
  return base;
}
