/** Opens the palette, and tells its keys. */
import { ActionIcon, Button, Kbd } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { texts, useTexts } from "../language/language.tsx";
import { showPalette, usePaletteShown } from "./open.ts";

const said = texts({ search: "Search", keys: "Search (Ctrl+K)" }, { search: "搜索", keys: "搜索（Ctrl+K）" });

/** isMac is whether the reader's keyboard has ⌘ in the place of Ctrl. */
const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

export function PaletteButton() {
  const t = useTexts(said);
  const isShown = usePaletteShown();
  // In fields, too.
  useHotkeys([["mod + K", () => showPalette(!isShown)]], []);
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
        onClick={() => showPalette(true)}
      >
        {t.search}
      </Button>
      <ActionIcon
        hiddenFrom="md"
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={t.keys}
        onClick={() => showPalette(true)}
      >
        <IconSearch size={20} aria-hidden />
      </ActionIcon>
    </>
  );
}
