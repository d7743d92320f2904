/** A page's head and content. Sets the window's title. */
import { Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { Head, type HeadProps } from "./head.tsx";
import { useWindowTitle } from "./window-title.ts";

interface Props extends HeadProps {
  readonly children: ReactNode;
}

export function Page({ children, ...head }: Props) {
  useWindowTitle(head.title);
  return (
    <Stack gap="lg">
      <Head {...head} order={1} size="h2" />
      {children}
    </Stack>
  );
}
