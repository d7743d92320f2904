/**
 * Rewrites names that an API refuses: the same way in every call, so that prompt caches keep hitting. A rewritten name ends in a
 * hash of the original, so that two names never become one.
 */
import { shortHash } from "../../runtime/ids.ts";

/** NameRule is which names the API takes. */
export interface NameRule {
  readonly fits: RegExp;
  /** refused matches each character that no name has. */
  readonly refused: RegExp;
  /** kept is how many characters stay: with "_" and the hash of 8, as many as a name may have. */
  readonly kept: number;
}

/** wordRule is that of names of letters, digits, "_" and "-", of which an API takes so many at most. */
export function wordRule(most: number): NameRule {
  return { fits: new RegExp(`^[a-zA-Z0-9_-]{1,${most}}$`), refused: /[^a-zA-Z0-9_-]/gu, kept: most - 9 };
}

/** fitName returns the name, or one in its place that the API takes. */
export function fitName(name: string, { fits, refused, kept }: NameRule): string {
  if (fits.test(name)) return name;
  const mark = shortHash(name);
  return `${name.replace(refused, "_").slice(0, kept)}_${mark}`;
}
