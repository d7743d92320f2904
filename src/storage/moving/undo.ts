/** Goes back to where data were before a move, as long as nothing was written where they came to. */
import { existsSync } from "node:fs";
import { StorageError } from "../../runtime/write-trouble.ts";
import type { MoveEnd } from "../engines/move-end.ts";
import { moveOf } from "../engines/moves.ts";
import { openSqliteEnd } from "../engines/sqlite/moving/end.ts";
import type { Ends } from "./copy.ts";
import { openTarget, type Place } from "./places.ts";
import { movedTables } from "./tables.ts";
import { difference, totalsOf } from "./totals.ts";

export interface UndoInit {
  readonly from: Place;
  /** to is where the data came to. It is needed where the move had ended, unless `isForced`. */
  readonly to: Place | undefined;
  /** Goes back without a look at that: what was written there since is not in the data. */
  readonly isForced: boolean;
}

export interface Undone {
  readonly from: string;
  /** The other end. */
  readonly place: string;
}

/** undoMove throws a StorageError, with nothing changed, where there is nothing to undo, or where something would be lost. */
export async function undoMove({ from: place, to, isForced }: UndoInit): Promise<Undone> {
  const from = await openAgain(place);
  try {
    const mark = await moveOf(from.db);
    if (mark?.state !== "leaving" && mark?.state !== "left")
      throw new StorageError(`the data of ${from.name} were not moved: there is nothing to undo`);
    // Until a move has ended, nobody could work on the other end.
    if (mark.state === "left" && !isForced) await shutTarget(from, to, mark.id, mark.place);
    await from.open(undefined);
    return { from: from.name, place: mark.place };
  } finally {
    await from.close();
  }
}

async function openAgain(place: Place): Promise<MoveEnd> {
  if (place.engine === "sqlite") return openSqliteEnd(place.path);
  const { openPostgresEnd } = await import("../engines/postgres/moving/end.ts");
  return openPostgresEnd(place.url);
}

async function shutTarget(from: MoveEnd, place: Place | undefined, id: string, name: string): Promise<void> {
  const force = "or go back by --force, without what was written there since";
  if (!place || (place.engine === "sqlite" && !existsSync(place.path)))
    throw new StorageError(`the move to ${name} has ended. Name that database, so that it is shut, ${force}`);
  const to = await openTarget(place);
  try {
    const mark = await moveOf(to.db);
    if (mark?.id !== id)
      throw new StorageError(`the data were moved to ${name}, and not to ${to.name}. Name that, ${force}`);
    // First it is shut: what was written while both were compared would be lost.
    await to.shut({ ...mark, state: "arriving", place: from.name, at: Date.now() });
    try {
      await refuseWritten({ from, to }, force);
    } catch (error) {
      // Where that fails, too, it stays shut: the same command opens it again.
      await to.open({ ...mark, state: "arrived" }).catch(() => {});
      throw error;
    }
  } finally {
    await to.close();
  }
}

/** refuseWritten refuses where anything differs but the hours that were proved: nothing depends on it. */
async function refuseWritten({ from, to }: Ends, force: string): Promise<void> {
  for (const table of movedTables.filter(({ name }) => name !== "closed_periods")) {
    const differs = difference(table, await totalsOf(from, table), await totalsOf(to, table));
    if (differs === undefined) continue;
    throw new StorageError(
      `${to.name} was written since (${differs} back). Move its data back by \`model-gateway migrate-to\`, ${force}`,
    );
  }
}
