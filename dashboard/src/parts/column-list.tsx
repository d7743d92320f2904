/** A list whose entries have the same columns: a table, or cards where there is no room for it. */
import { Box, Group, Stack, Table, type TableProps } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./cards.module.css";
import { Fact } from "./fact.tsx";
import text from "./text.module.css";
import { ColumnHeads, WideTable } from "./wide-table.tsx";

export interface ListColumn<T> {
  readonly name: string;
  readonly head: string;
  readonly numeric?: boolean | undefined;
  /** isHeadline is whether cards begin with it, without its head. */
  readonly isHeadline?: boolean | undefined;
  /** isName is whether it is what somebody or something is called: it takes several lines in the table, and more room in a card. */
  readonly isName?: boolean | undefined;
  /** isLong is whether it takes a line of its own in a card. */
  readonly isLong?: boolean | undefined;
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
  /** minWidth is the width below which there are cards, in pixels. */
  readonly minWidth: number;
  /** headOf returns the head of a column that has more than a name; undefined for others. */
  readonly headOf?: (name: string) => ReactNode;
  /** table is how the table is set. */
  readonly table?: TableProps;
  /** flush is whether the list stands in a card already. */
  readonly flush?: boolean;
  readonly classOf?: (entry: T) => string | undefined;
  /** actions are the buttons of an entry. */
  readonly actions?: (entry: T) => ReactNode;
}

export function ColumnList<T>(props: Props<T>) {
  const { label, entries, columns, idOf, minWidth, headOf, table, flush = false, classOf, actions } = props;
  return (
    <WideTable {...{ label, minWidth, flush }} cards={<Cards {...props} />} {...table}>
      <ColumnHeads {...{ columns, headOf }} hasActions={actions !== undefined} />
      <Table.Tbody>
        {entries.map((entry) => (
          <Table.Tr key={idOf(entry)} className={classOf?.(entry)}>
            {columns.map(({ name, numeric, isName, cellProps, cell }) => (
              <Table.Td key={name} className={numeric ? text.number : isName ? text.name : undefined} {...cellProps}>
                {cell(entry)}
              </Table.Td>
            ))}
            {actions && <Table.Td>{actions(entry)}</Table.Td>}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  );
}

function Cards<T>({ label, entries, columns, idOf, flush = false, classOf, actions }: Props<T>) {
  const headlines = columns.filter(({ isHeadline }) => isHeadline);
  const facts = columns.filter(({ isHeadline }) => !isHeadline);
  const card = flush ? classes.part : classes.card;
  return (
    <Stack gap="sm" component="ul" aria-label={label} className={text.list}>
      {entries.map((entry) => (
        <Box key={idOf(entry)} component="li" className={`${card} ${classOf?.(entry) ?? ""}`}>
          {headlines.length > 0 && (
            <Group justify="space-between" gap="xs" fz="sm" mb={6} className={text.anywhere}>
              {headlines.map(({ name, cell }) => (
                <Box key={name} miw={0}>
                  {cell(entry)}
                </Box>
              ))}
              {actions?.(entry)}
            </Group>
          )}
          <dl className={classes.facts}>
            {facts.map(({ name, head, isName = false, isLong = false, cell }) => (
              <Fact key={name} name={head} className={isLong ? classes.line : isName ? classes.name : undefined}>
                {cell(entry)}
              </Fact>
            ))}
          </dl>
          {headlines.length === 0 && actions && <Group mt="sm">{actions(entry)}</Group>}
        </Box>
      ))}
    </Stack>
  );
}
