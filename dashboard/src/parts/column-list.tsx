/** A list whose entries have the same columns: a table, or cards in a narrow window. */
import { Group, Paper, SimpleGrid, Stack, Table, type TableProps } from "@mantine/core";
import type { ReactNode } from "react";
import { Fact } from "./fact.tsx";
import { useNarrow } from "./narrow.ts";
import text from "./text.module.css";
import { ColumnHeads, WideTable } from "./wide-table.tsx";

export interface ListColumn<T> {
  readonly name: string;
  readonly head: string;
  readonly numeric?: boolean | undefined;
  /** isHeadline is whether cards begin with it, without its head. */
  readonly isHeadline?: boolean | undefined;
  /** cellProps are those of its cells in the table. */
  readonly cellProps?: { readonly className?: string | undefined; readonly miw?: number | undefined } | undefined;
  readonly cell: (entry: T) => ReactNode;
}

interface Props<T> {
  /** label names the list for readers of screens. */
  readonly label: string;
  readonly entries: readonly T[];
  readonly columns: readonly ListColumn<T>[];
  readonly idOf: (entry: T) => string;
  /** minWidth is the width below which the table scrolls. */
  readonly minWidth: number;
  /** table is how the table is set. */
  readonly table?: TableProps;
  /** flush is whether the table stands in a card already. */
  readonly flush?: boolean;
  readonly classOf?: (entry: T) => string | undefined;
  /** actions are the buttons of an entry. */
  readonly actions?: (entry: T) => ReactNode;
}

export function ColumnList<T>(props: Props<T>) {
  return useNarrow("62em") ? <Cards {...props} /> : <Wide {...props} />;
}

function Wide<T>({ label, entries, columns, idOf, minWidth, table, flush = false, classOf, actions }: Props<T>) {
  return (
    <Paper withBorder={!flush}>
      <WideTable label={label} minWidth={minWidth} flush={flush} {...table}>
        <ColumnHeads columns={columns} hasActions={actions !== undefined} />
        <Table.Tbody>
          {entries.map((entry) => (
            <Table.Tr key={idOf(entry)} className={classOf?.(entry)}>
              {columns.map(({ name, numeric, cellProps, cell }) => (
                <Table.Td key={name} className={numeric ? text.number : undefined} {...cellProps}>
                  {cell(entry)}
                </Table.Td>
              ))}
              {actions && <Table.Td>{actions(entry)}</Table.Td>}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </WideTable>
    </Paper>
  );
}

function Cards<T>({ label, entries, columns, idOf, classOf, actions }: Props<T>) {
  const headlines = columns.filter(({ isHeadline }) => isHeadline);
  const facts = columns.filter(({ isHeadline }) => !isHeadline);
  return (
    <Stack gap="sm" component="ul" aria-label={label} className={text.list}>
      {entries.map((entry) => (
        <Paper key={idOf(entry)} component="li" withBorder p="sm" className={classOf?.(entry)}>
          {headlines.length > 0 && (
            <Group justify="space-between" fz="sm" mb="xs">
              {headlines.map(({ name, cell }) => (
                <div key={name}>{cell(entry)}</div>
              ))}
            </Group>
          )}
          <SimpleGrid component="dl" cols={2} spacing="xs" verticalSpacing={6} m={0}>
            {facts.map(({ name, head, cell }) => (
              <Fact key={name} name={head}>
                {cell(entry)}
              </Fact>
            ))}
          </SimpleGrid>
          {actions && <Group mt="sm">{actions(entry)}</Group>}
        </Paper>
      ))}
    </Stack>
  );
}
