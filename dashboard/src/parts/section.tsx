/** A part of a page with a heading of its own, in a card. An address may lead to it, by its id. */
import { Paper, Stack } from "@mantine/core";
import { useLocation } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef } from "react";
import { Head, type HeadProps } from "./head.tsx";

interface Props extends HeadProps {
  /** id is what stands behind `#` in an address that leads here. */
  readonly id?: string | undefined;
  readonly children?: ReactNode;
}

export function Section({ id, children, ...head }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const { hash, href } = useLocation();
  // Also where the section is there only after the gateway has answered; and again, where the same place is asked for anew.
  useEffect(() => {
    if (id === undefined || hash !== id) return;
    place.current?.scrollIntoView({ block: "start" });
    place.current?.focus({ preventScroll: true });
  }, [id, hash, href]);
  const target = id === undefined ? {} : { id, tabIndex: -1, style: { scrollMarginTop: 72 } };
  return (
    <Paper ref={place} withBorder p={{ base: "md", sm: "lg" }} component="section" {...target}>
      <Stack gap="md">
        <Head {...head} order={2} size="h4" />
        {children}
      </Stack>
    </Paper>
  );
}
