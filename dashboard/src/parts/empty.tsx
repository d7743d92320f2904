/** Replaces an empty list: what will be here, and the one thing to do about it. */
import { Stack, Text, ThemeIcon, Title } from "@mantine/core";
import type { ComponentType, ReactNode } from "react";

interface Props {
  readonly icon: ComponentType<{ readonly size?: number }>;
  readonly title: string;
  /** order is the level of the heading; 1 if it stands for a whole page. */
  readonly order?: 1 | 2;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}

export function Empty({ icon: Icon, title, order = 2, children, action }: Props) {
  return (
    <Stack align="center" gap="xs" py="xl" px="md" ta="center">
      <ThemeIcon size={48} radius="xl" variant="light" color="gray" aria-hidden>
        <Icon size={24} />
      </ThemeIcon>
      <Title order={order} size="h5">
        {title}
      </Title>
      {children && (
        <Text size="sm" c="dimmed" maw={420}>
          {children}
        </Text>
      )}
      {action}
    </Stack>
  );
}
