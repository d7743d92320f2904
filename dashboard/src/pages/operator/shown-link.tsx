/** Shows a one-time link, only once. */
import { Alert, Button, Group, Stack, Text, Textarea } from "@mantine/core";
import { IconAlertCircle } from "@tabler/icons-react";
import type { CreateLinkResponse } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Copy } from "../../parts/copy.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Untold } from "../../parts/untold.tsx";

const said = texts(
  {
    once: "Copy the link now. It is not shown again.",
    link: "Link",
    what: "link",
    until: "Valid until",
    done: "Done",
    untold:
      "A link was made, but the answer that told it did not arrive. Nobody knows it, so it opens nothing. Make another.",
    another: "Make another link",
  },
  {
    once: "请立即复制链接，之后将不再显示。",
    link: "链接",
    what: "链接",
    until: "有效期至",
    done: "完成",
    untold: "链接已生成，但包含链接的应答未能送达。无人知晓该链接，因此它无法被使用。请重新生成。",
    another: "重新生成链接",
  },
);

interface Props {
  readonly link: CreateLinkResponse;
  readonly about: string;
  /** onAnother goes back to where a link is made. */
  readonly onAnother: () => void;
  readonly onClose: () => void;
}

export function ShownLink({ link: { url, expiresAt }, about, onAnother, onClose }: Props) {
  const t = useTexts(said);
  if (!url)
    return (
      <Stack>
        <Untold>{t.untold}</Untold>
        <Group justify="flex-end">
          <Button onClick={onAnother} data-autofocus>
            {t.another}
          </Button>
        </Group>
      </Stack>
    );
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
