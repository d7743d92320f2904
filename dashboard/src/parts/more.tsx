/** Loads the next page of a list, at its end. */
import { Button, Group } from "@mantine/core";
import type { UseInfiniteQueryResult } from "@tanstack/react-query";
import { texts, useTexts } from "../language/language.tsx";
import { Failure } from "./failure.tsx";

const said = texts({ more: "Show more" }, { more: "显示更多" });

interface Props {
  readonly of: Pick<
    UseInfiniteQueryResult<unknown, Error>,
    "hasNextPage" | "isFetchingNextPage" | "isFetchNextPageError" | "error" | "fetchNextPage"
  >;
}

export function More({ of: { hasNextPage, isFetchingNextPage, isFetchNextPageError, error, fetchNextPage } }: Props) {
  const t = useTexts(said);
  if (isFetchNextPageError) return <Failure error={error} retry={() => void fetchNextPage()} />;
  if (!hasNextPage) return null;
  return (
    <Group justify="center">
      <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
        {t.more}
      </Button>
    </Group>
  );
}
