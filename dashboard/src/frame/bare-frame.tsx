/** The frame of the pages before the sign-in: a card in the middle of the window. */
import { Box, Group, Paper, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { useWindowTitle } from "../parts/window-title.ts";
import classes from "./app-frame.module.css";
import { LanguageSwitch } from "./language-switch.tsx";
import { Mark } from "./mark.tsx";
import { ThemeSwitch } from "./theme-switch.tsx";

interface Props {
  readonly title: string;
  readonly about?: string | undefined;
  readonly children: ReactNode;
}

export function BareFrame({ title, about, children }: Props) {
  useWindowTitle(title);
  return (
    <Stack mih="100dvh" p="md" justify="space-between">
      <Group component="header" justify="space-between">
        <Mark />
        <Group gap="xs">
          <LanguageSwitch />
          <ThemeSwitch />
        </Group>
      </Group>
      <Box component="main" id="content" tabIndex={-1} className={classes.main} w="100%" maw={420} mx="auto">
        <Paper withBorder p={{ base: "lg", xs: "xl" }} shadow="sm">
          <Stack>
            <Box>
              <Title order={1} size="h3">
                {title}
              </Title>
              {about && (
                <Text size="sm" c="dimmed" mt={4}>
                  {about}
                </Text>
              )}
            </Box>
            {children}
          </Stack>
        </Paper>
      </Box>
      <div />
    </Stack>
  );
}
