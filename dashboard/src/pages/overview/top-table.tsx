/** The models or keys with the highest spending, with their share. */
import { Anchor, Group, Progress, Table, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type Split, shareOf } from "../../charts/split.ts";
import { counted } from "../../language/counted.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Money } from "../../parts/money.tsx";
import { Section } from "../../parts/section.tsx";
import text from "../../parts/text.module.css";
import type { RequestSearch } from "../../search.ts";

const said = texts(
  {
    requests: "Requests",
    count: (count: string) => counted(count, "request"),
    spend: "Spend",
    share: "Share",
    none: "No requests in this time.",
  },
  {
    requests: "请求数",
    count: (count: string) => `${count} 次请求`,
    spend: "消费",
    share: "占比",
    none: "此时段内没有请求。",
  },
);

const shownParts = 5;

interface Props {
  readonly title: string;
  /** column is the heading of the first column. */
  readonly column: string;
  readonly of: Split;
  readonly nameOf: (id: string) => string;
  /** searchOf returns the search for an item's requests. */
  readonly searchOf: (id: string) => RequestSearch;
}

export function TopTable({ title, column, of, nameOf, searchOf }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  return (
    <Section title={title}>
      {of.parts.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t.none}
        </Text>
      ) : (
        <Table aria-label={title} verticalSpacing="xs" horizontalSpacing={8} layout="fixed">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{column}</Table.Th>
              <Table.Th ta="right" w={96} visibleFrom="xs">
                {t.requests}
              </Table.Th>
              <Table.Th ta="right" w={{ base: 88, xs: 104 }}>
                {t.spend}
              </Table.Th>
              <Table.Th ta="right" w={{ base: 60, xs: 108 }}>
                {t.share}
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {of.parts.slice(0, shownParts).map(({ id, requests, cost }) => (
              <Table.Tr key={id}>
                <Table.Td>
                  <Anchor
                    renderRoot={(props) => <Link to="/usage" search={searchOf(id)} {...props} />}
                    size="sm"
                    display="block"
                    style={{ overflowWrap: "anywhere" }}
                  >
                    {nameOf(id)}
                  </Anchor>
                  <Text size="xs" c="dimmed" hiddenFrom="xs">
                    {t.count(format.count(requests))}
                  </Text>
                </Table.Td>
                <Table.Td className={text.number} visibleFrom="xs">
                  {format.count(requests)}
                </Table.Td>
                <Table.Td className={text.number}>
                  <Money of={cost} />
                </Table.Td>
                <Table.Td>
                  <Share of={shareOf(cost, of.total.cost)} name={nameOf(id)} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Section>
  );
}

function Share({ of, name }: { readonly of: number; readonly name: string }) {
  const format = useFormat();
  return (
    <Group gap={8} justify="flex-end" wrap="nowrap">
      <Progress value={of * 100} size="sm" flex={1} aria-label={name} visibleFrom="xs" />
      <Text size="sm" miw={44} className={text.number}>
        {format.percent(of)}
      </Text>
    </Group>
  );
}
