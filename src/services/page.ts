/** Pages of lists: cuts what was found to the page size and returns the token of the next page. */
import { pageStart, writePageToken } from "./page-token.ts";

export interface PageRequest {
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** next is empty on the last page. */
  readonly next: { readonly nextPageToken?: string };
}

/** defaultPageSize is how many items a page has that states no size. */
export const defaultPageSize = 50;

/**
 * pageOf finds a page. `find` gets the last id of the page before and a limit of one more item than the page has,
 * which shows whether there is a next page. Throws a Refusal for an invalid token.
 */
export async function pageOf<T extends { readonly id: string }>(
  { pageSize = defaultPageSize, pageToken }: PageRequest,
  prefix: string,
  find: (last: string | undefined, limit: number) => readonly T[] | Promise<readonly T[]>,
): Promise<Page<T>> {
  const found = await find(pageStart(pageToken, prefix), pageSize + 1);
  const items = found.slice(0, pageSize);
  const last = items.at(-1);
  return { items, next: last && items.length < found.length ? { nextPageToken: writePageToken(last.id) } : {} };
}
