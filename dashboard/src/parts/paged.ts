/** How lists are asked for a page after another: what `useInfiniteQuery` needs to know of every one of them. */

/** The first page is asked for without a token, which the types of the query do not foresee. */
export const fromTheTop = undefined as never;

export const paged = {
  pageParamKey: "pageToken" as const,
  getNextPageParam: ({ nextPageToken }: { readonly nextPageToken?: string | undefined }) => nextPageToken || undefined,
};
