/** Keys as a table, or as cards in a narrow window. */
import { Code, Group, Paper, SimpleGrid, Stack, Table, Text, VisuallyHidden } from "@mantine/core";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Fact } from "../../parts/fact.tsx";
import { Moment } from "../../parts/moment.tsx";
import { useNarrow } from "../../parts/narrow.ts";
import text from "../../parts/text.module.css";
import { WideTable } from "../../parts/wide-table.tsx";
import { AdministratorBadge, KeyModels, KeySpend, KeyStatus } from "./key-facts.tsx";
import { type KeyActions, KeyMenu } from "./key-menu.tsx";

const said = texts(
  {
    keys: "API keys",
    name: "Key",
    status: "Status",
    models: "Models",
    spent: "Spent of limit",
    created: "Created",
    used: "Last used",
    expires: "Expires",
    never: "Never",
    actions: "Actions",
    overlap: (moment: string) => `The previous secret works until ${moment}`,
  },
  {
    keys: "API 密钥",
    name: "密钥",
    status: "状态",
    models: "模型",
    spent: "已消费 / 上限",
    created: "创建时间",
    used: "最近使用",
    expires: "过期时间",
    never: "从未",
    actions: "操作",
    overlap: (moment: string) => `旧密钥内容在 ${moment} 之前仍有效`,
  },
);

const neverExpires = texts({ never: "Never" }, { never: "永不" });

interface Props extends KeyActions {
  readonly of: readonly ApiKey[];
}

export function KeyList(props: Props) {
  return useNarrow("76em") ? <Cards {...props} /> : <Rows {...props} />;
}

function Rows({ of, ...actions }: Props) {
  const t = useTexts(said);
  const { never } = useTexts(neverExpires);
  return (
    <Paper withBorder>
      <WideTable label={t.keys} minWidth={900} horizontalSpacing={10}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t.name}</Table.Th>
            <Table.Th className={text.nowrap}>{t.status}</Table.Th>
            <Table.Th>{t.models}</Table.Th>
            <Table.Th className={text.nowrap}>{t.spent}</Table.Th>
            <Table.Th className={text.nowrap}>{t.created}</Table.Th>
            <Table.Th className={text.nowrap}>{t.used}</Table.Th>
            <Table.Th className={text.nowrap}>{t.expires}</Table.Th>
            <Table.Th pos="relative">
              <VisuallyHidden>{t.actions}</VisuallyHidden>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {of.map((key) => (
            <Table.Tr key={key.id}>
              <Table.Td>
                <Name of={key} />
              </Table.Td>
              <Table.Td className={text.nowrap}>
                <KeyStatus of={key} />
              </Table.Td>
              <Table.Td>
                <KeyModels of={key} />
              </Table.Td>
              <Table.Td className={text.nowrap}>
                <KeySpend of={key} />
              </Table.Td>
              <Table.Td className={text.nowrap}>
                <Moment at={key.createdAt} as="day" />
              </Table.Td>
              <Table.Td>
                <Moment at={key.lastUsedAt} as="ago" none={t.never} />
              </Table.Td>
              <Table.Td className={text.nowrap}>
                <Moment at={key.expiresAt} as="day" none={never} />
              </Table.Td>
              <Table.Td>
                <KeyMenu of={key} {...actions} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </WideTable>
    </Paper>
  );
}

function Cards({ of, ...actions }: Props) {
  const t = useTexts(said);
  const { never } = useTexts(neverExpires);
  return (
    <SimpleGrid component="ul" cols={{ base: 1, md: 2 }} spacing="sm" m={0} p={0} aria-label={t.keys}>
      {of.map((key) => (
        <Paper component="li" key={key.id} withBorder p="md" display="block">
          <Stack gap="sm">
            <Group justify="space-between" align="flex-start" wrap="nowrap">
              <Name of={key} />
              <KeyMenu of={key} {...actions} />
            </Group>
            <KeySpend of={key} />
            <SimpleGrid component="dl" cols={2} spacing="xs" verticalSpacing="xs" m={0}>
              <Fact name={t.status}>
                <KeyStatus of={key} />
              </Fact>
              <Fact name={t.models}>
                <KeyModels of={key} />
              </Fact>
              <Fact name={t.created}>
                <Moment at={key.createdAt} as="day" />
              </Fact>
              <Fact name={t.used}>
                <Moment at={key.lastUsedAt} as="ago" none={t.never} />
              </Fact>
              <Fact name={t.expires}>
                <Moment at={key.expiresAt} as="day" none={never} />
              </Fact>
            </SimpleGrid>
          </Stack>
        </Paper>
      ))}
    </SimpleGrid>
  );
}

function Name({ of: { name, secretMask, isAdmin, previousSecretExpiresAt } }: { readonly of: ApiKey }) {
  const t = useTexts(said);
  const format = useFormat();
  return (
    <Stack gap={4} miw={0}>
      <Group gap="xs">
        <Text size="sm" fw={600} maw={260} truncate title={name}>
          {name}
        </Text>
        {isAdmin && <AdministratorBadge />}
      </Group>
      <Code w="fit-content">{secretMask}</Code>
      {previousSecretExpiresAt && (
        <Text size="xs" c="dimmed">
          {t.overlap(format.moment(previousSecretExpiresAt))}
        </Text>
      )}
    </Stack>
  );
}
