/** A list of settings: names and values. */
import { Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./setting.module.css";

export function Settings({ children }: { readonly children: ReactNode }) {
  return (
    <Stack component="dl" gap={0} m={0}>
      {children}
    </Stack>
  );
}

export function Setting({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <Group justify="space-between" py="xs" gap="xs" className={classes.setting}>
      <Text component="dt" size="sm" c="dimmed">
        {name}
      </Text>
      <Text component="dd" size="sm" fw={500} m={0}>
        {children}
      </Text>
    </Group>
  );
}
