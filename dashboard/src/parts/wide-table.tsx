/** A table that is shown as cards where there is no room for it, so that nobody has to scroll sideways. */
import { Paper, Table, type TableProps } from "@mantine/core";
import { Fragment, type ReactNode } from "react";
import { useRoom } from "./use-room.ts";
import classes from "./wide-table.module.css";

interface Props extends TableProps {
  /** label names the table for screen readers. */
  readonly label: string;
  /** minWidth is the width below which cards are easier to read, in pixels. They are also shown where the table does not fit. */
  readonly minWidth: number;
  /** cards are what is shown instead of the table. */
  readonly cards: ReactNode;
  /** flush is whether it has neither a border nor padding, since its container has some. */
  readonly flush?: boolean;
}

export function WideTable({ label, minWidth, cards, flush = false, ...props }: Props) {
  const { holder, table, hasRoom } = useRoom(minWidth);
  const shown = (
    <Paper withBorder={!flush} role="region" aria-label={label} className={classes.around}>
      <Table
        ref={table}
        verticalSpacing="xs"
        horizontalSpacing="md"
        aria-label={label}
        className={flush ? classes.flush : undefined}
        {...props}
      />
    </Paper>
  );
  return (
    <div ref={holder} className={classes.holder}>
      {hasRoom === undefined ? null : hasRoom ? shown : cards}
    </div>
  );
}

interface HeadedColumn {
  readonly name: string;
  readonly head: ReactNode;
  /** numeric is whether its cells are numbers, which stand at the right. */
  readonly numeric?: boolean | undefined;
}

interface HeadsProps {
  readonly columns: readonly HeadedColumn[];
  /** headOf returns the head of a column that has more than a name; undefined for others. */
  readonly headOf?: ((name: string) => ReactNode) | undefined;
  /** hasActions is whether another column follows, with buttons and without a head. */
  readonly hasActions?: boolean;
}

/** ColumnHeads are the heads of a table's columns. */
export function ColumnHeads({ columns, headOf, hasActions = false }: HeadsProps) {
  return (
    <Table.Thead>
      <Table.Tr>
        {columns.map(({ name, head, numeric }) => (
          <Fragment key={name}>
            {headOf?.(name) ?? (
              <Table.Th scope="col" ta={numeric ? "right" : undefined}>
                {head}
              </Table.Th>
            )}
          </Fragment>
        ))}
        {hasActions && <Table.Td />}
      </Table.Tr>
    </Table.Thead>
  );
}
