/** A table that scrolls in itself where the window is narrower than it, by the keyboard too. */
import { Table, type TableProps } from "@mantine/core";
import classes from "./wide-table.module.css";

interface Props extends TableProps {
  /** What the table holds, for who cannot see it. */
  readonly label: string;
  /** Below this width it scrolls. */
  readonly minWidth: number;
  /** Whether it has no room at its sides, for it stands in something that has. */
  readonly flush?: boolean;
}

export function WideTable({ label, minWidth, flush = false, ...table }: Props) {
  return (
    <Table.ScrollContainer minWidth={minWidth} type="native" tabIndex={0} role="region" aria-label={label}>
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
