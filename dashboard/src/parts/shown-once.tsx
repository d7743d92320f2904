/** Codes that are shown only once, to copy or to save as a file. */
import { Alert, Button, Code, CopyButton, Group, ScrollArea, Stack } from "@mantine/core";
import { IconAlertCircle, IconCheck, IconCopy, IconDownload } from "@tabler/icons-react";
import { texts, useTexts } from "../language/language.tsx";
import { download } from "./download.ts";

const said = texts(
  {
    once: "Copy or download these now. They are not shown again.",
    copy: "Copy all",
    copied: "Copied",
    download: "Download",
    codes: "Codes",
  },
  {
    once: "请立即复制或下载，之后将不再显示。",
    copy: "全部复制",
    copied: "已复制",
    download: "下载",
    codes: "代码",
  },
);

interface Props {
  readonly codes: readonly string[];
  /** fileName is the name of the downloaded file. */
  readonly fileName: string;
}

export function ShownOnce({ codes, fileName }: Props) {
  const t = useTexts(said);
  const text = `${codes.join("\n")}\n`;
  return (
    <Stack>
      <Alert color="yellow" icon={<IconAlertCircle aria-hidden />}>
        {t.once}
      </Alert>
      <ScrollArea.Autosize mah={280} type="auto" viewportProps={{ tabIndex: 0, role: "region", "aria-label": t.codes }}>
        <Code block>{codes.join("\n")}</Code>
      </ScrollArea.Autosize>
      <Group>
        <CopyButton value={text} timeout={2000}>
          {({ copied, copy }) => (
            <Button
              variant="default"
              leftSection={copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
              onClick={copy}
            >
              {copied ? t.copied : t.copy}
            </Button>
          )}
        </CopyButton>
        <Button
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden />}
          onClick={() => download(new Blob([text], { type: "text/plain" }), fileName)}
        >
          {t.download}
        </Button>
      </Group>
    </Stack>
  );
}
