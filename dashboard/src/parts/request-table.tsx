/** A list of calls: running ones first, then ended ones. Cards in a narrow window. */
import { Group, Paper, SimpleGrid, Stack, Table } from "@mantine/core";
import type { ReactNode } from "react";
import type { Request, Running } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { texts, useTexts } from "../language/language.tsx";
import { Fact } from "./fact.tsx";
import { useNarrow } from "./narrow.ts";
import { type RequestColumn, type RequestNames, useRequestColumns } from "./request-columns.tsx";
import classes from "./request-table.module.css";
import text from "./text.module.css";
import { ColumnHeads, WideTable } from "./wide-table.tsx";

const said = texts({ requests: "Requests" }, { requests: "请求" });

interface Props extends RequestNames {
  readonly requests: readonly Request[];
  readonly running?: readonly Running[];
}

interface Row {
  readonly id: string;
  readonly isRunning: boolean;
  readonly cell: (column: RequestColumn) => ReactNode;
}

export function RequestTable({ requests, running = [], ...names }: Props) {
  const columns = useRequestColumns(names);
  const isNarrow = useNarrow("62em");
  const rows: Row[] = [
    ...running.map((call) => ({ id: call.id, isRunning: true, cell: (of: RequestColumn) => of.running(call) })),
    ...requests.map((call) => ({ id: call.id, isRunning: false, cell: (of: RequestColumn) => of.ended(call) })),
  ];
  const List = isNarrow ? Cards : Wide;
  return <List columns={columns} rows={rows} />;
}

interface ListProps {
  readonly columns: readonly RequestColumn[];
  readonly rows: readonly Row[];
}

function Wide({ columns, rows }: ListProps) {
  const t = useTexts(said);
  return (
    <Paper withBorder>
      <WideTable label={t.requests} minWidth={940} fz={13} verticalSpacing={8} horizontalSpacing="xs" highlightOnHover>
        <ColumnHeads columns={columns} />
        <Table.Tbody>
          {rows.map(({ id, isRunning, cell }) => (
            <Table.Tr key={id} className={isRunning ? classes.running : undefined}>
              {columns.map((column) => (
                <Table.Td key={column.name} className={cellClass(column)}>
                  {cell(column)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </WideTable>
    </Paper>
  );
}

function cellClass({ numeric, clipped }: RequestColumn): string | undefined {
  if (clipped) return classes.clipped;
  return numeric ? text.number : text.nowrap;
}

const headlines = ["time", "outcome"];

function Cards({ columns, rows }: ListProps) {
  const t = useTexts(said);
  const [top, rest] = [true, false].map((isTop) => columns.filter(({ name }) => headlines.includes(name) === isTop));
  return (
    <Stack gap="sm" component="ul" aria-label={t.requests} className={classes.list}>
      {rows.map(({ id, isRunning, cell }) => (
        <Paper key={id} component="li" withBorder p="sm" className={isRunning ? classes.running : undefined}>
          <Group justify="space-between" fz="sm" mb="xs">
            {top?.map((column) => (
              <div key={column.name}>{cell(column)}</div>
            ))}
          </Group>
          <SimpleGrid component="dl" cols={2} spacing="xs" verticalSpacing={6} m={0}>
            {rest?.map((column) => (
              <Fact key={column.name} name={column.head}>
                {cell(column)}
              </Fact>
            ))}
          </SimpleGrid>
        </Paper>
      ))}
    </Stack>
  );
}
