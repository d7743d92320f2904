/** Shows a query's answer, its loading state, or why it failed. */
import { Skeleton, Stack } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { texts, useTexts } from "../language/language.tsx";
import { Failure } from "./failure.tsx";

const said = texts({ loading: "Loading" }, { loading: "加载中" });

interface Props<T> {
  readonly of: Pick<UseQueryResult<T, Error>, "data" | "error" | "refetch">;
  readonly children: (data: T) => ReactNode;
  /** lines is the approximate number of lines of the answer. */
  readonly lines?: number;
}

export function Answer<T>({ of: { data, error, refetch }, children, lines = 4 }: Props<T>) {
  if (data !== undefined) return children(data);
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  return <Waiting lines={lines} />;
}

export function Waiting({ lines }: { readonly lines: number }) {
  const t = useTexts(said);
  return (
    <Stack gap="sm" role="status" aria-label={t.loading}>
      {Array.from({ length: lines }, (_, line) => (
        <Skeleton key={line} height={28} />
      ))}
    </Stack>
  );
}
