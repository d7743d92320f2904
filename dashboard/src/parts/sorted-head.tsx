/** The head of a column by which a list can be put in order. */
import { Group, Table, UnstyledButton } from "@mantine/core";
import { IconChevronDown, IconChevronUp, IconSelector } from "@tabler/icons-react";
import text from "./text.module.css";

interface Props<By extends string> {
  readonly by: By;
  readonly name: string;
  readonly order: { readonly by: By; readonly isDescending: boolean };
  readonly onSort: (by: By) => void;
  /** numeric is whether its cells are numbers, which stand at the right. */
  readonly numeric?: boolean;
}

export function SortedHead<By extends string>({ by, name, order, onSort, numeric = false }: Props<By>) {
  const isSorted = order.by === by;
  const Icon = !isSorted ? IconSelector : order.isDescending ? IconChevronDown : IconChevronUp;
  return (
    <Table.Th
      scope="col"
      className={text.nowrap}
      ta={numeric ? "right" : undefined}
      aria-sort={isSorted ? (order.isDescending ? "descending" : "ascending") : "none"}
    >
      <UnstyledButton fz="inherit" fw="inherit" c="inherit" onClick={() => onSort(by)}>
        <Group gap={2} wrap="nowrap" component="span">
          {name}
          <Icon size={14} aria-hidden />
        </Group>
      </UnstyledButton>
    </Table.Th>
  );
}
