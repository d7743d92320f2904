/** Switches between light and dark. The settings page also offers the system's choice. */
import { ActionIcon, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { IconMoon, IconSun } from "@tabler/icons-react";
import { texts, useTexts } from "../language/language.tsx";

const said = texts(
  { light: "Use the light theme", dark: "Use the dark theme" },
  { light: "使用浅色主题", dark: "使用深色主题" },
);

export function ThemeSwitch() {
  const t = useTexts(said);
  const { setColorScheme } = useMantineColorScheme();
  const other = useComputedColorScheme("light") === "light" ? "dark" : "light";
  const Icon = other === "light" ? IconSun : IconMoon;
  return (
    <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t[other]} onClick={() => setColorScheme(other)}>
      <Icon size={20} aria-hidden />
    </ActionIcon>
  );
}
