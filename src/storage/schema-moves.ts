/** The tables of a move of all data to another database (`moving/`), as Kysely sees them. */

/** MoveTable has one row where the database is one end of a move, or was. */
export interface MoveTable {
  /** 1: there is one row. */
  number: number;
  /** The move, which both ends have. */
  id: string;
  /** A MoveState. */
  state: string;
  /** The other end, without a password. */
  place: string;
  /** at is when it came to that state. */
  at: number;
}

/** MovedTableTable says, at the end that data come to, how far each table is. */
export interface MovedTableTable {
  name: string;
  /** The key of the last row that is there, as a JSON list; null before the first. */
  after: string | null;
  /** rows is how many rows are there. */
  rows: number;
  is_whole: number;
  /** ms is how long it took, in milliseconds. */
  ms: number;
}
