/** Keys as a table, or as cards where there is no room for it. */
import { Checkbox, Group, Paper, SimpleGrid, Stack, Table, Text, VisuallyHidden } from "@mantine/core";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import cards from "../../parts/cards.module.css";
import { Fact } from "../../parts/fact.tsx";
import { Moment } from "../../parts/moment.tsx";
import { SortedHead } from "../../parts/sorted-head.tsx";
import text from "../../parts/text.module.css";
import { WideTable } from "../../parts/wide-table.tsx";
import { KeyModels, KeySpend, KeyStatus } from "./key-facts.tsx";
import { type KeyActions, KeyMenu } from "./key-menu.tsx";
import { type KeyOrder, turned } from "./key-order.ts";
import { KeyBounds } from "./limits/key-bounds.tsx";
import { KeyName } from "./limits/key-name.tsx";

const said = texts(
  {
    keys: "API keys",
    name: "Key",
    status: "Status",
    owner: "Owner",
    models: "Models",
    spent: "Spent of limit",
    created: "Created",
    used: "Last used",
    expires: "Expires",
    never: "Never",
    actions: "Actions",
    select: (name: string) => `Select ${name}`,
    selectAll: "Select all keys that are shown",
  },
  {
    keys: "API 密钥",
    name: "密钥",
    status: "状态",
    owner: "负责人",
    models: "模型",
    spent: "已消费 / 上限",
    created: "创建时间",
    used: "最近使用",
    expires: "过期时间",
    never: "从未",
    actions: "操作",
    select: (name: string) => `选择 ${name}`,
    selectAll: "选择所有显示的密钥",
  },
);

const neverExpires = texts({ never: "Never" }, { never: "永不" });

interface Props extends KeyActions {
  readonly of: readonly ApiKey[];
  readonly order: KeyOrder;
  readonly onOrder: (order: KeyOrder) => void;
  /** selected are the ids of the selected keys. */
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (ids: readonly string[], isSelected: boolean) => void;
}

export function KeyList(props: Props) {
  const { of, order, onOrder, selected, onSelect, ...actions } = props;
  const t = useTexts(said);
  const head = (by: KeyOrder["by"], name: string) => (
    <SortedHead {...{ by, name, order }} onSort={(clicked) => onOrder(turned(order, clicked))} />
  );
  const ids = of.map(({ id }) => id);
  const count = ids.filter((id) => selected.has(id)).length;
  return (
    <WideTable label={t.keys} minWidth={940} cards={<Cards {...props} />} horizontalSpacing={8}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th w={36}>
            <Checkbox
              size="xs"
              aria-label={t.selectAll}
              checked={count === ids.length}
              indeterminate={count > 0 && count < ids.length}
              onChange={(event) => onSelect(ids, event.currentTarget.checked)}
            />
          </Table.Th>
          {head("name", t.name)}
          {head("owner", t.owner)}
          {head("status", t.status)}
          <Table.Th>{t.models}</Table.Th>
          {head("spent", t.spent)}
          {head("created", t.created)}
          {head("used", t.used)}
          <Table.Th pos="relative">
            <VisuallyHidden>{t.actions}</VisuallyHidden>
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {of.map((key) => (
          <Table.Tr key={key.id} {...(selected.has(key.id) ? { bg: "var(--mantine-color-default-hover)" } : {})}>
            <Table.Td>
              <Selected of={key} {...{ selected, onSelect }} />
            </Table.Td>
            <Table.Td>
              <KeyName of={key} />
            </Table.Td>
            <Table.Td>
              <Text size="sm" maw={110} className={text.name}>
                {key.owner ?? "–"}
              </Text>
            </Table.Td>
            <Table.Td className={text.nowrap}>
              <KeyStatus of={key} />
            </Table.Td>
            <Table.Td>
              <KeyModels of={key} />
              <KeyBounds of={key} />
            </Table.Td>
            <Table.Td>
              <KeySpend of={key} />
            </Table.Td>
            <Table.Td className={text.nowrap}>
              <Moment at={key.createdAt} as="day" />
              {key.expiresAt && (
                <Text size="xs" c="dimmed">
                  {t.expires} <Moment at={key.expiresAt} as="day" />
                </Text>
              )}
            </Table.Td>
            <Table.Td className={text.nowrap}>
              <Moment at={key.lastUsedAt} as="ago" none={t.never} />
            </Table.Td>
            <Table.Td>
              <KeyMenu of={key} {...actions} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  );
}

function Selected({
  of: { id, name },
  selected,
  onSelect,
}: Pick<Props, "selected" | "onSelect"> & { readonly of: ApiKey }) {
  const t = useTexts(said);
  return (
    <Checkbox
      size="xs"
      aria-label={t.select(name)}
      checked={selected.has(id)}
      onChange={(event) => onSelect([id], event.currentTarget.checked)}
    />
  );
}

function Cards({ of, selected, onSelect, order: _, onOrder: __, ...actions }: Props) {
  const t = useTexts(said);
  const { never } = useTexts(neverExpires);
  return (
    <SimpleGrid component="ul" cols={{ base: 1, md: 2 }} spacing="sm" m={0} p={0} aria-label={t.keys}>
      {of.map((key) => (
        <Paper component="li" key={key.id} withBorder p="md" display="block">
          <Stack gap="sm">
            <Group justify="space-between" align="flex-start" wrap="nowrap">
              <Group gap="sm" align="flex-start" wrap="nowrap" miw={0}>
                <Selected of={key} {...{ selected, onSelect }} />
                <KeyName of={key} />
              </Group>
              <KeyMenu of={key} {...actions} />
            </Group>
            <KeySpend of={key} />
            <SimpleGrid component="dl" cols={2} spacing="xs" verticalSpacing="xs" m={0}>
              <Fact name={t.status}>
                <KeyStatus of={key} />
              </Fact>
              <Fact name={t.models}>
                <KeyModels of={key} />
                <KeyBounds of={key} />
              </Fact>
              {key.owner !== undefined && (
                <Fact name={t.owner} className={cards.name}>
                  {key.owner}
                </Fact>
              )}
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
