/** One figure in a card: its name, its value, and a line or two about it. */
import { Group, Paper, Skeleton, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./figure.module.css";

interface Props {
  readonly title: string;
  /** value is undefined while it is loading, and where it could not be had. */
  readonly value: ReactNode;
  /** hasFailed is whether the value could not be had; default: no. */
  readonly hasFailed?: boolean;
  /** change is shown beside the name, where every figure has room for it. */
  readonly change?: ReactNode;
  readonly children: ReactNode;
}

export function Figure({ title, value, hasFailed = false, change, children }: Props) {
  return (
    <Paper withBorder p="md">
      <Stack gap={6} h="100%">
        {/* A line is as high as a small button, whether there is one or not: figures beside one another stand in line. */}
        <Group gap="xs" justify="space-between" align="flex-start" wrap="nowrap">
          <Text size="sm" c="dimmed" component="h2" fw={400} lh="26px">
            {title}
          </Text>
          {value !== undefined && change && (
            <Group mih={26} ta="right">
              {change}
            </Group>
          )}
        </Group>
        <Group mih={32} align="baseline">
          {value === undefined && !hasFailed ? (
            <Skeleton height={24} width="60%" />
          ) : (
            <Text size="xl" fw={600} component="div" className={classes.value}>
              {value ?? "–"}
            </Text>
          )}
        </Group>
        {children}
      </Stack>
    </Paper>
  );
}

export function Note({ children }: { readonly children: ReactNode }) {
  return (
    <Text size="xs" c="dimmed" component="div">
      {children}
    </Text>
  );
}
