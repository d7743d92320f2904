/**
 * Knows what has changed of keys and accounts since some moment: the database numbers changes, and names for each which keys and accounts
 * it was of, so that whoever remembers others need not read them again.
 *
 * The names of the last thousand changes are kept. Who has missed more, or a change of too many, has to read everything again.
 */
import type { Changes } from "../money/books.ts";

/** keptChanges is how many changes, the last ones, the database keeps the names of. */
export const keptChanges = 1000;
/** mostNames is the most names that a change has: one of more keys and accounts counts as a change of all. */
export const mostNames = 100;
/** ofAll is the name that stands for all keys and accounts. */
export const ofAll = "";
/** ofConfiguration is the name of a change of the configuration: no key or account has it. */
export const ofConfiguration = "configuration";

export type NamedChange = readonly [number: number, name: string];

export interface ChangedNames {
  /** Returns the number up to which changes were seen: later ones are to be asked for. */
  seen(): number;
  /**
   * Learns that the last change has a number, and the names of those after the last that was seen. `version` is the first that has them.
   */
  see(number: number, names: readonly NamedChange[], version: number): void;
  /** Has everything count as changed until `version`: the numbers may be those of another history. */
  begin(number: number, version: number): void;
  changedSince: Changes["changedSince"];
  namesSince: NamedChanges["namesSince"];
}

/** NamedChanges are changes that tell of what they were. */
export interface NamedChanges extends Changes {
  /** Returns the keys and accounts that have changed since the version `asOf`; undefined where any may have. */
  namesSince(asOf: number): readonly string[] | undefined;
}

/** With more names than this, all are forgotten. */
const maxNames = 10_000;

/** createChangedNames creates what tells which names have changed. `number` is that of the last change before anything was read. */
export function createChangedNames(number: number): ChangedNames {
  const versions = new Map<string, number>();
  /** Before this version nothing is known. */
  let knownFrom = 0;
  let seen = number;

  function forget(version: number): void {
    versions.clear();
    knownFrom = version;
  }

  return {
    seen: () => seen,
    see(now, names, version) {
      const isComplete = now >= seen && new Set(names.map(([one]) => one)).size === now - seen;
      seen = now;
      if (!isComplete || names.some(([, name]) => name === ofAll)) return forget(version);
      for (const [, name] of names) versions.set(name, version);
      if (versions.size > maxNames) forget(version);
    },
    begin(now, version) {
      seen = now;
      forget(version);
    },
    changedSince(asOf, accountId, keyId) {
      if (asOf < knownFrom) return true;
      return (versions.get(accountId) ?? 0) > asOf || (versions.get(keyId) ?? 0) > asOf;
    },
    namesSince(asOf) {
      if (asOf < knownFrom) return undefined;
      return [...versions].flatMap(([name, version]) => (version > asOf ? [name] : []));
    },
  };
}
