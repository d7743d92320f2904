/** The pages' theme and language in this browser: light, dark, or the system's choice. */
import { Group, type MantineColorScheme, SegmentedControl, Stack, Text, useMantineColorScheme } from "@mantine/core";
import { type Language, languages, texts, useLanguage, useTexts } from "../../language/language.tsx";
import { Section } from "../../parts/section.tsx";
import { ownSections } from "./own-sections.ts";

const said = texts(
  {
    title: ownSections.en.appearance,
    theme: "Theme",
    auto: "System",
    light: "Light",
    dark: "Dark",
    language: "Language",
  },
  {
    title: ownSections["zh-CN"].appearance,
    theme: "主题",
    auto: "跟随系统",
    light: "浅色",
    dark: "深色",
    language: "语言",
  },
);

const themes: readonly MantineColorScheme[] = ["auto", "light", "dark"];

export function AppearanceSection() {
  const t = useTexts(said);
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { language, speak } = useLanguage();
  return (
    <Section id="appearance" title={t.title}>
      <Group gap="xl" align="flex-start">
        <Stack gap={4}>
          <Text size="sm" fw={500} aria-hidden>
            {t.theme}
          </Text>
          <SegmentedControl
            aria-label={t.theme}
            data={themes.map((value) => ({ value, label: t[value] }))}
            value={colorScheme}
            onChange={(value) => setColorScheme(value as MantineColorScheme)}
          />
        </Stack>
        <Stack gap={4}>
          <Text size="sm" fw={500} aria-hidden>
            {t.language}
          </Text>
          <SegmentedControl
            aria-label={t.language}
            data={Object.entries(languages).map(([value, label]) => ({ value, label }))}
            value={language}
            onChange={(value) => speak(value as Language)}
          />
        </Stack>
      </Group>
    </Section>
  );
}
