/** A table that scrolls within itself in a narrow window, also by the keyboard. */
import { Table, type TableProps } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./wide-table.module.css";

interface Props extends TableProps {
  /** label names the table for screen readers. */
  readonly label: string;
  /** minWidth is the width below which it scrolls. */
  readonly minWidth: number;
  /** flush is whether it has no padding, since its container has some. */
  readonly flush?: boolean;
}

export function WideTable({ label, minWidth, flush = false, ...table }: Props) {
  return (
    <Table.ScrollContainer
      minWidth={minWidth}
      type="native"
      tabIndex={0}
      role="region"
      aria-label={label}
      className={classes.scrolls ?? ""}
    >
      <Table
        verticalSpacing="xs"
        horizontalSpacing="md"
        aria-label={label}
        className={flush ? classes.flush : undefined}
        {...table}
      />
    </Table.ScrollContainer>
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
  /** hasActions is whether another column follows, with buttons and without a head. */
  readonly hasActions?: boolean;
}

/** ColumnHeads are the heads of a table's columns. */
export function ColumnHeads({ columns, hasActions = false }: HeadsProps) {
  return (
    <Table.Thead>
      <Table.Tr>
        {columns.map(({ name, head, numeric }) => (
          <Table.Th key={name} scope="col" ta={numeric ? "right" : undefined}>
            {head}
          </Table.Th>
        ))}
        {hasActions && <Table.Td />}
      </Table.Tr>
    </Table.Thead>
  );
}
