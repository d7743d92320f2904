/** The options of `useInfiniteQuery` that all paged lists share. */

/** fromTheTop: the first page is requested without a token, which the query's types do not foresee. */
export const fromTheTop = undefined as never;

export const paged = {
  pageParamKey: "pageToken" as const,
  getNextPageParam: ({ nextPageToken }: { readonly nextPageToken?: string | undefined }) => nextPageToken || undefined,
};
