/** Plays the synthesised speech, and saves it. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import { Measures } from "./measures.tsx";
import classes from "./playground.module.css";
import type { Spoken } from "./use-speech.ts";

const said = texts(
  {
    sound: "The spoken text",
    download: (name: string) => `Download ${name}`,
    unplayable: "This browser does not play this format. Download it, or choose another.",
  },
  {
    sound: "朗读的音频",
    download: (name: string) => `下载 ${name}`,
    unplayable: "此浏览器无法播放该格式，请下载或选择其他格式。",
  },
);

export function SpokenView({ spoken: { sound, measured } }: { readonly spoken: Spoken }) {
  const t = useTexts(said);
  const playable = useAddress(sound.playable);
  const file = useAddress(sound.file);
  const [failed, setFailed] = useState<string>();
  return (
    <Stack gap="xs" role="status">
      {/* biome-ignore lint/a11y/useMediaCaption: the words of it stand right above. */}
      <audio
        controls
        className={classes.player}
        src={playable}
        aria-label={t.sound}
        onError={() => setFailed(playable)}
      />
      {failed !== undefined && failed === playable && <Text size="sm">{t.unplayable}</Text>}
      <Group justify="space-between">
        <Measures of={measured} />
        <Button
          component="a"
          {...{ href: file, download: sound.name }}
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden />}
        >
          {t.download(sound.name)}
        </Button>
      </Group>
    </Stack>
  );
}

/** useAddress returns a URL of a file, valid while it is shown. */
function useAddress(file: Blob): string | undefined {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(file);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return address;
}
