/** Shows a key in a list by its name, its masked secret and its tags. */
import { Code, Group, Stack, Text } from "@mantine/core";
import type { ApiKey } from "../../../../../gen/modelgateway/v1/keys_pb.ts";
import { useFormat } from "../../../language/format.ts";
import { texts, useTexts } from "../../../language/language.tsx";
import text from "../../../parts/text.module.css";
import { AdministratorBadge } from "../key-facts.tsx";
import { KeyTags } from "./key-bounds.tsx";

const said = texts(
  { overlap: (moment: string) => `The previous secret works until ${moment}` },
  { overlap: (moment: string) => `旧密钥内容在 ${moment} 之前仍有效` },
);

export function KeyName({ of: { name, secretMask, isAdmin, previousSecretExpiresAt, tags } }: { readonly of: ApiKey }) {
  const t = useTexts(said);
  const format = useFormat();
  return (
    <Stack gap={4} miw={0}>
      <Group gap="xs">
        <Text size="sm" fw={600} className={text.name} title={name}>
          {name}
        </Text>
        {isAdmin && <AdministratorBadge />}
      </Group>
      <Code w="fit-content">{secretMask}</Code>
      <KeyTags of={{ tags }} />
      {previousSecretExpiresAt && (
        <Text size="xs" c="dimmed">
          {t.overlap(format.moment(previousSecretExpiresAt))}
        </Text>
      )}
    </Stack>
  );
}
