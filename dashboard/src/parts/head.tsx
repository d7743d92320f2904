/** The head of a page, or of a part of one: its title, its purpose, and its main actions. */
import { Box, Group, Text, Title, type TitleSize } from "@mantine/core";
import type { ReactNode } from "react";
import { Breakable } from "./breakable.tsx";
import text from "./text.module.css";

export interface HeadProps {
  readonly title: string;
  /** about is one sentence on its purpose. */
  readonly about?: ReactNode;
  /** actions are a button or two. */
  readonly actions?: ReactNode;
}

interface Props extends HeadProps {
  /** order is the level of the heading. */
  readonly order: 1 | 2;
  readonly size: TitleSize;
}

export function Head({ title, about, actions, order, size }: Props) {
  return (
    <Group justify="space-between" align="flex-start" gap="sm">
      <Box flex="1 1 240px" className={text.anywhere}>
        <Title order={order} size={size}>
          <Breakable>{title}</Breakable>
        </Title>
        {about && (
          <Text c="dimmed" size="sm" mt={4} maw={640}>
            {about}
          </Text>
        )}
      </Box>
      {actions && <Group gap="xs">{actions}</Group>}
    </Group>
  );
}
