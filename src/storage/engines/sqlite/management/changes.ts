/** Counts changes of keys, limits and accounts in a file, and what they are of: triggers number and name them. */
import { createChangedNames, type NamedChange, type NamedChanges } from "../../changed-names.ts";
import type { Connection } from "../../engine.ts";

/**
 * createChanges creates what tells which keys and accounts of a file have changed. `written` returns another number whenever anything was
 * written that is seen on `connection`: until then nothing is looked up. Once `isGone` says that this process works on the database no more,
 * everything counts as changed at every look.
 */
export function createChanges(
  { prepare }: Pick<Connection, "prepare">,
  written: () => number,
  isGone: () => boolean,
): NamedChanges {
  const selectNumber = prepare<[], { readonly number: number }>("SELECT number FROM changes");
  const selectNames = prepare<[after: number], { readonly number: number; readonly name: string }>(
    "SELECT number, name FROM changed_names WHERE number > ? ORDER BY number",
  );
  const numberNow = () => selectNumber.get()?.number ?? 0;
  const names = createChangedNames(numberNow());
  let lookedAt = written();
  let version = 0;

  function look(): void {
    if (isGone()) {
      names.begin(names.seen(), ++version);
      return;
    }
    const current = written();
    if (current === lookedAt) return;
    lookedAt = current;
    const number = numberNow();
    if (number === names.seen()) return;
    const named = selectNames.all(names.seen()).map(({ number, name }): NamedChange => [number, name]);
    names.see(number, named, ++version);
  }

  return {
    version() {
      look();
      return version;
    },
    changedSince(...of) {
      look();
      return names.changedSince(...of);
    },
    namesSince(asOf) {
      look();
      return names.namesSince(asOf);
    },
  };
}
