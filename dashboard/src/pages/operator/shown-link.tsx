/** Shows a one-time link, only once. */
import { Alert, Button, Group, Stack, Text, Textarea } from "@mantine/core";
import { IconAlertCircle } from "@tabler/icons-react";
import type { CreateLinkResponse } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Copy } from "../../parts/copy.tsx";
import { Moment } from "../../parts/moment.tsx";

const said = texts(
  {
    once: "Copy the link now. It is not shown again.",
    link: "Link",
    what: "link",
    until: "Valid until",
    done: "Done",
  },
  { once: "请立即复制链接，之后将不再显示。", link: "链接", what: "链接", until: "有效期至", done: "完成" },
);

interface Props {
  readonly link: CreateLinkResponse;
  readonly about: string;
  readonly onClose: () => void;
}

export function ShownLink({ link: { url, expiresAt }, about, onClose }: Props) {
  const t = useTexts(said);
  return (
    <Stack>
      <Text size="sm">{about}</Text>
      <Alert color="yellow" icon={<IconAlertCircle aria-hidden />} role="status">
        {t.once}
      </Alert>
      <Group align="flex-end" gap="xs" wrap="nowrap">
        <Textarea
          flex={1}
          label={t.link}
          value={url}
          readOnly
          autosize
          spellCheck={false}
          onFocus={(event) => event.currentTarget.select()}
          styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: 13 } }}
        />
        <Copy value={url} what={t.what} />
      </Group>
      <Text size="sm" c="dimmed">
        {t.until} <Moment at={expiresAt} />
      </Text>
      <Group justify="flex-end">
        <Button onClick={onClose}>{t.done}</Button>
      </Group>
    </Stack>
  );
}
