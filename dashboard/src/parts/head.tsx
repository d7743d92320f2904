/** The head of a page, or of a part of one: its title, what it is for, and what one does here first. */
import { Box, Group, Text, Title, type TitleSize } from "@mantine/core";
import type { ReactNode } from "react";

export interface HeadProps {
  readonly title: string;
  /** One sentence on what it is for. */
  readonly about?: ReactNode;
  /** A button or two. */
  readonly actions?: ReactNode;
}

interface Props extends HeadProps {
  /** Which heading it is. */
  readonly order: 1 | 2;
  readonly size: TitleSize;
}

export function Head({ title, about, actions, order, size }: Props) {
  return (
    <Group justify="space-between" align="flex-start" gap="sm">
      <Box flex="1 1 240px">
        <Title order={order} size={size}>
          {title}
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
