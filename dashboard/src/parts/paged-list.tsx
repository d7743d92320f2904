/** A list that loads page by page: its items so far, a button for more, or what to do if it is empty. */
import { Stack } from "@mantine/core";
import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Answer } from "./answer.tsx";
import { More } from "./more.tsx";

interface Props<P, T> {
  readonly of: UseInfiniteQueryResult<InfiniteData<P>, Error>;
  readonly entriesOf: (page: P) => readonly T[];
  /** lines is the approximate number of lines of the list. */
  readonly lines?: number;
  /** empty is shown if there are no items. */
  readonly empty: ReactNode;
  readonly children: (entries: readonly T[]) => ReactNode;
}

export function PagedList<P, T>({ of, entriesOf, lines = 6, empty, children }: Props<P, T>) {
  return (
    <Stack>
      <Answer of={of} lines={lines}>
        {({ pages }) => {
          const entries = pages.flatMap(entriesOf);
          return entries.length > 0 ? children(entries) : empty;
        }}
      </Answer>
      <More of={of} />
    </Stack>
  );
}
