/** Prints in what two versions of the configuration differ, a line each; on standard output, so that they can be kept. */
import {
  type ChangeConfigurationResponse,
  type ConfigurationDifference,
  DifferenceKind,
  type RollBackConfigurationResponse,
} from "../../../gen/modelgateway/v1/configuration_pb.ts";
import type { Difference } from "../../config/stored/differences.ts";
import { legible } from "../../runtime/words/legible.ts";

const kinds: ReadonlyMap<DifferenceKind, Difference["kind"]> = new Map([
  [DifferenceKind.ADDED, "added"],
  [DifferenceKind.REMOVED, "removed"],
  [DifferenceKind.CHANGED, "changed"],
]);

export function printDifferences(differences: readonly ConfigurationDifference[]): void {
  if (differences.length === 0) console.error("Nothing differs.");
  for (const { path, kind, before = "", after = "" } of differences)
    printDifference(kinds.get(kind) ?? "changed", path, before, after);
}

/** printDifference prints a line; `before` and `after` are JSON. */
export function printDifference(kind: Difference["kind"], path: string, before: string, after: string): void {
  if (kind === "changed") console.log(legible(`~ ${path}: ${before} → ${after}`));
  else if (kind === "added") console.log(legible(`+ ${path}: ${after}`));
  else console.log(legible(`- ${path}: ${before}`));
}

/** printChanged prints what came of a change; whether a version was made goes to standard error. */
export function printChanged(changed: Changed, isDry: boolean): void {
  printDifferences(changed.differences);
  printOutcome(changed, isDry ? "Nothing was stored: --dry-run." : undefined);
}

type Changed = ChangeConfigurationResponse | RollBackConfigurationResponse;

/** printOutcome says which version was made, or in its own words that none was. */
export function printOutcome({ configuration, differences }: Changed, dryWords: string | undefined): void {
  const { version = 0, shadowed = [], fileName = "" } = configuration ?? {};
  if (shadowed.length > 0) {
    const file = fileName === "" ? "the environment" : fileName;
    console.error(`Served as ${file} has them, and not as they are stored: ${shadowed.join(", ")}.`);
  }
  if (differences.length > 0) console.error(dryWords ?? `Stored as version ${version}.`);
}
