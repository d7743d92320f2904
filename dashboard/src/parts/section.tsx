/** A part of a page with a heading of its own, in a card. */
import { Paper, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { Head, type HeadProps } from "./head.tsx";

interface Props extends HeadProps {
  readonly children?: ReactNode;
}

export function Section({ children, ...head }: Props) {
  return (
    <Paper withBorder p="lg" component="section">
      <Stack gap="md">
        <Head {...head} order={2} size="h4" />
        {children}
      </Stack>
    </Paper>
  );
}
