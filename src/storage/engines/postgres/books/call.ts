/** Calls a function of the books. */
import type { Session } from "../session.ts";
import type { BooksFunction } from "./functions/function.ts";

type Queried = Pick<Session, "query">;

/** call returns the value that the function returns. Its arguments need no types: the function has them. */
export async function call<T>(session: Queried, { name }: BooksFunction, values: readonly unknown[]): Promise<T> {
  const [row] = await session.query(`SELECT ${name}(${values.map((_, i) => `$${i + 1}`).join(", ")}) AS told`, values);
  return row?.told as T;
}
