/** Copies a text, and shows that it did. */
import { ActionIcon, CopyButton, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import { texts, useTexts } from "../language/language.tsx";

const said = texts(
  { copy: (what: string) => `Copy ${what}`, copied: "Copied" },
  { copy: (what: string) => `复制${what}`, copied: "已复制" },
);

interface Props {
  readonly value: string;
  /** what names the text, such as "secret". */
  readonly what: string;
}

export function Copy({ value, what }: Props) {
  const t = useTexts(said);
  return (
    <CopyButton value={value} timeout={2000}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? t.copied : t.copy(what)}>
          <ActionIcon variant="subtle" color={copied ? "teal" : "gray"} onClick={copy} aria-label={t.copy(what)}>
            {copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}
