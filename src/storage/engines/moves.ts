/**
 * Keeps what a database knows of a move of all its data: it is the end that they leave, or the one that they come to. A gateway, and every
 * command that opens the data, refuses both until the move has ended, and the end that was left from then on: so no call is charged in
 * a place that nobody looks at any more.
 */
import { StorageError } from "../../runtime/write-trouble.ts";
import type { Database } from "./scope.ts";

/** MoveState is where an end stands: data leave it or have left it, come to it or have come. */
export type MoveState = "leaving" | "left" | "arriving" | "arrived";

export interface MoveMark {
  /** The move, which both ends have. */
  readonly id: string;
  readonly state: MoveState;
  /** The other end, without a password. */
  readonly place: string;
  /** at is when it came to that state, in milliseconds since 1970. */
  readonly at: number;
}

/** moveOf returns what is known of a move; undefined where there was none, also in a database that has no tables yet. */
export async function moveOf(db: Database): Promise<MoveMark | undefined> {
  try {
    const row = await db.selectFrom("moves").select(["id", "state", "place", "at"]).executeTakeFirst();
    return row && { ...row, state: row.state as MoveState };
  } catch (error) {
    if (hasNoTable(error)) return undefined;
    throw error;
  }
}

function hasNoTable(error: unknown): boolean {
  const { code, message = "" } = error as { readonly code?: string; readonly message?: string };
  return code === "42P01" || /no such table/.test(message);
}

/** setMove writes what is known of a move; undefined removes it. */
export async function setMove(db: Database, mark: MoveMark | undefined): Promise<void> {
  await db.deleteFrom("moves").execute();
  if (mark)
    await db
      .insertInto("moves")
      .values({ number: 1, ...mark })
      .execute();
}

/** refuseMoved throws a StorageError where a database is not to be worked on because of a move. */
export async function refuseMoved(db: Database, name: string): Promise<void> {
  const mark = await moveOf(db);
  const line = mark && refusal(mark, name);
  if (line !== undefined) throw new StorageError(line);
}

/** refusal returns why nobody is to work on a database, and what to do; undefined where everybody may. */
export function refusal({ state, place, at }: MoveMark, name: string): string | undefined {
  const goOn = "Run `model-gateway migrate-to` again, which goes on where it was ended";
  switch (state) {
    case "arrived":
      return undefined;
    case "leaving":
      return `the data of ${name} are being moved to ${place}. ${goOn}, or with --undo to stay here`;
    case "left":
      return `the data of ${name} were moved to ${place} at ${new Date(at).toISOString()}. Use that database; \`model-gateway migrate-to\` moves them back`;
    case "arriving":
      return `the database ${name} has only a part of the data of ${place}: a move of them has not ended. ${goOn}`;
  }
}
