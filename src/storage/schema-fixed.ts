/** The type of columns that never change. */
import type { ColumnType } from "kysely";

/** Fixed is a column that is written once. */
export type Fixed<T> = ColumnType<T, T, never>;
