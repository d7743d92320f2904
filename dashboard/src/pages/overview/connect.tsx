/** The address that clients are given, to copy; and an example of a call. */
import { useQuery } from "@connectrpc/connect-query";
import { Button, Code, Group, Paper, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCode } from "@tabler/icons-react";
import { AccountService } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Copy } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import text from "../../parts/text.module.css";
import { useSession } from "../../session.tsx";
import { firstModel } from "../keys/snippets.ts";
import { Examples } from "../keys/use-it.tsx";

const said = texts(
  { address: "Base address", what: "base address", show: "How to call it", title: "Call the gateway" },
  { address: "接口地址", what: "接口地址", show: "调用方法", title: "调用网关" },
);

export function Connect() {
  const t = useTexts(said);
  const [opened, { open, close }] = useDisclosure();
  return (
    <Paper withBorder px="md" py="xs" component="section" aria-label={t.address}>
      <Group justify="space-between" gap="xs">
        <BaseAddress />
        <Button variant="subtle" size="compact-sm" leftSection={<IconCode size={16} aria-hidden />} onClick={open}>
          {t.show}
        </Button>
      </Group>
      <Dialog size="lg" opened={opened} onClose={close} title={t.title}>
        <CallExamples />
      </Dialog>
    </Paper>
  );
}

export function BaseAddress() {
  const t = useTexts(said);
  const { addresses } = useSession();
  const base = `${addresses.root}/v1`;
  return (
    <Group gap="xs">
      <Text size="sm" c="dimmed">
        {t.address}
      </Text>
      <Group gap={4} wrap="nowrap">
        <Code className={text.anywhere}>{base}</Code>
        <Copy value={base} what={t.what} />
      </Group>
    </Group>
  );
}

/** CallExamples shows a first call of a model that the account may call. `permitted` are the models of a key; default: all. */
export function CallExamples({ permitted = [] }: { readonly permitted?: readonly string[] }) {
  const catalog = useQuery(AccountService.method.listCatalog, {});
  return (
    <Answer of={catalog} lines={5}>
      {({ models }) => <Examples model={firstModel(models, permitted)} />}
    </Answer>
  );
}
