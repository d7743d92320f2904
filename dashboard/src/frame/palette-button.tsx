/** Opens the palette, and tells its keys. */
import { ActionIcon, Button, Kbd } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { texts, useTexts } from "../language/language.tsx";

const said = texts({ search: "Search", keys: "Search (Ctrl+K)" }, { search: "搜索", keys: "搜索（Ctrl+K）" });

/** isMac is whether the reader's keyboard has ⌘ in the place of Ctrl. */
const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

async function openPalette(): Promise<void> {
  const { spotlight } = await import("@mantine/spotlight");
  spotlight.open();
}

export function PaletteButton() {
  const t = useTexts(said);
  return (
    <>
      <Button
        visibleFrom="md"
        variant="default"
        size="compact-md"
        c="dimmed"
        fw={400}
        fz="sm"
        leftSection={<IconSearch size={16} aria-hidden />}
        rightSection={<Kbd size="xs">{isMac ? "⌘ K" : "Ctrl K"}</Kbd>}
        onClick={() => void openPalette()}
      >
        {t.search}
      </Button>
      <ActionIcon
        hiddenFrom="md"
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={t.keys}
        onClick={() => void openPalette()}
      >
        <IconSearch size={20} aria-hidden />
      </ActionIcon>
    </>
  );
}
