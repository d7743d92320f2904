/** Pages of lists: how much of what was found is told, and where the next page goes on. */
import { readPageToken, writePageToken } from "./page-token.ts";

export interface PageRequest {
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Nothing at the last page. */
  readonly next: { readonly nextPageToken?: string };
}

const defaultSize = 50;

/**
 * Finds a page: `find` gets the id of what came last before it and how much is wanted, one more than is told, so as to
 * know whether there is a next page. Throws a Refusal for a token that is none.
 */
export async function pageOf<T extends { readonly id: string }>(
  { pageSize = defaultSize, pageToken }: PageRequest,
  prefix: string,
  find: (last: string | undefined, limit: number) => readonly T[] | Promise<readonly T[]>,
): Promise<Page<T>> {
  const found = await find(pageToken === undefined ? undefined : readPageToken(pageToken, prefix), pageSize + 1);
  const items = found.slice(0, pageSize);
  const last = items.at(-1);
  return { items, next: last && items.length < found.length ? { nextPageToken: writePageToken(last.id) } : {} };
}
