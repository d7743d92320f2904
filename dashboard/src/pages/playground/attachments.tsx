/** Attaches images and other files to a message. They stay in the page until the message is sent. */
import { ActionIcon, CloseButton, Code, FileButton, Group, Text, Tooltip } from "@mantine/core";
import { IconPaperclip } from "@tabler/icons-react";
import { useState } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import type { Attachment } from "./conversation.ts";
import classes from "./playground.module.css";

const said = texts(
  {
    attach: "Attach images or files",
    remove: (name: string) => `Remove ${name}`,
    large: (name: string) => `${name} is larger than 10 MB, and is not attached.`,
  },
  {
    attach: "添加图片或文件",
    remove: (name: string) => `移除 ${name}`,
    large: (name: string) => `${name} 超过 10 MB，未添加。`,
  },
);

const maxBytes = 10_000_000;

export function AttachButton({ onAttach }: { readonly onAttach: (files: readonly Attachment[]) => void }) {
  const t = useTexts(said);
  const [tooLarge, setTooLarge] = useState<string>();
  const attach = async (files: readonly File[]) => {
    setTooLarge(files.find(({ size }) => size > maxBytes)?.name);
    onAttach(await Promise.all(files.filter(({ size }) => size <= maxBytes).map(attachmentOf)));
  };
  return (
    <>
      <FileButton
        multiple
        accept="image/png,image/jpeg,image/gif,image/webp,application/pdf,text/*"
        onChange={(files) => void attach(files)}
      >
        {(props) => (
          <Tooltip label={t.attach}>
            <ActionIcon {...props} variant="subtle" color="gray" aria-label={t.attach}>
              <IconPaperclip size={18} aria-hidden />
            </ActionIcon>
          </Tooltip>
        )}
      </FileButton>
      {tooLarge !== undefined && (
        <Text size="xs" c="var(--mantine-color-error)" role="alert">
          {t.large(tooLarge)}
        </Text>
      )}
    </>
  );
}

function attachmentOf(file: File): Promise<Attachment> {
  const { promise, resolve, reject } = Promise.withResolvers<Attachment>();
  const reader = new FileReader();
  reader.onload = () => resolve({ name: file.name, type: file.type, url: String(reader.result) });
  reader.onerror = () => reject(reader.error);
  reader.readAsDataURL(file);
  return promise;
}

interface Props {
  readonly files: readonly Attachment[];
  readonly onChange: (files: readonly Attachment[]) => void;
}

export function Attached({ files, onChange }: Props) {
  const t = useTexts(said);
  if (files.length === 0) return null;
  return (
    <Group gap="sm" mt="xs">
      {files.map(({ name, type, url }, at) => (
        <Group key={at} gap={4} wrap="nowrap">
          {type.startsWith("image/") ? <img src={url} alt={name} className={classes.image} /> : <Code>{name}</Code>}
          <CloseButton size="xs" aria-label={t.remove(name)} onClick={() => onChange(files.toSpliced(at, 1))} />
        </Group>
      ))}
    </Group>
  );
}
