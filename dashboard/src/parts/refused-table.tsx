/** A list of refused calls: when, why, of which key and model. Cards in a narrow window. */
import { Anchor, Group, Paper, SimpleGrid, Stack, Table, Text } from "@mantine/core";
import { IconBan } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Refused } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { useFormat } from "../language/format.ts";
import { texts, useTexts } from "../language/language.tsx";
import { Fact } from "./fact.tsx";
import { useNarrow } from "./narrow.ts";
import { useReasonNames, useRefusedDetail } from "./refusal-reasons.ts";
import type { RequestNames } from "./request-columns.tsx";
import classes from "./request-table.module.css";
import text from "./text.module.css";
import { ColumnHeads, WideTable } from "./wide-table.tsx";

const said = texts(
  {
    refused: "Refused requests",
    time: "Time",
    account: "Account",
    reason: "Reason",
    model: "Model",
    key: "Key",
    operation: "Operation",
    detail: "Detail",
    unknown: "–",
  },
  {
    refused: "被拒绝的请求",
    time: "时间",
    account: "账户",
    reason: "原因",
    model: "模型",
    key: "密钥",
    operation: "操作",
    detail: "详情",
    unknown: "–",
  },
);

interface Props extends RequestNames {
  readonly refused: readonly Refused[];
}

interface Column {
  readonly name: string;
  readonly head: string;
  readonly wraps?: true;
  readonly cell: (call: Refused) => ReactNode;
}

export function RefusedTable({ refused, ...names }: Props) {
  const columns = useColumns(names);
  const isNarrow = useNarrow("62em");
  return isNarrow ? <Cards columns={columns} rows={refused} /> : <Wide columns={columns} rows={refused} />;
}

function useColumns({ keyNames, account, page = "/usage/$requestId" }: RequestNames): readonly Column[] {
  const t = useTexts(said);
  const wordsOf = useRefusedDetail();
  const format = useFormat();
  const columns: Column[] = [
    {
      name: "time",
      head: t.time,
      cell: ({ id, createdAt }) => (
        <Anchor component={Link} to={page} params={{ requestId: id } as never} fz="inherit" title={id}>
          {createdAt && <span title={format.exactly(createdAt)}>{format.briefly(createdAt)}</span>}
        </Anchor>
      ),
    },
    { name: "reason", head: t.reason, cell: (call) => <ReasonMark of={call} /> },
    { name: "model", head: t.model, cell: ({ model }) => <Clipped text={model || t.unknown} /> },
    {
      name: "key",
      head: t.key,
      cell: ({ keyId }) => <Clipped text={keyNames?.get(keyId) ?? keyId} title={keyId} />,
    },
    { name: "operation", head: t.operation, cell: ({ operation }) => operation },
    { name: "detail", head: t.detail, wraps: true, cell: ({ detail }) => wordsOf(detail) || t.unknown },
  ];
  if (account) columns.splice(1, 0, { name: "account", head: t.account, cell: (call) => account(call.accountId) });
  return columns;
}

/** ReasonMark shows why a call was refused, and by which status. */
export function ReasonMark({ of: { reason, status } }: { readonly of: Pick<Refused, "reason" | "status"> }) {
  const nameOf = useReasonNames();
  return (
    <Group gap={6} wrap="nowrap" title={reason}>
      <IconBan size={16} color="var(--mantine-color-orange-7)" aria-hidden />
      <Text span inherit>
        {nameOf(reason)}
      </Text>
      <Text span inherit c="dimmed">
        {status}
      </Text>
    </Group>
  );
}

interface ListProps {
  readonly columns: readonly Column[];
  readonly rows: readonly Refused[];
}

function Wide({ columns, rows }: ListProps) {
  const t = useTexts(said);
  return (
    <Paper withBorder>
      <WideTable label={t.refused} minWidth={900} fz={13} verticalSpacing={8} horizontalSpacing="xs" highlightOnHover>
        <ColumnHeads columns={columns} />
        <Table.Tbody>
          {rows.map((call) => (
            <Table.Tr key={call.id}>
              {columns.map(({ name, wraps, cell }) => (
                <Table.Td key={name} className={wraps ? undefined : text.nowrap} miw={wraps ? 220 : undefined}>
                  {cell(call)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </WideTable>
    </Paper>
  );
}

const headlines = ["time", "reason"];

function Cards({ columns, rows }: ListProps) {
  const t = useTexts(said);
  const [top, rest] = [true, false].map((isTop) => columns.filter(({ name }) => headlines.includes(name) === isTop));
  return (
    <Stack gap="sm" component="ul" aria-label={t.refused} className={classes.list}>
      {rows.map((call) => (
        <Paper key={call.id} component="li" withBorder p="sm">
          <Group justify="space-between" fz="sm" mb="xs">
            {top?.map(({ name, cell }) => (
              <div key={name}>{cell(call)}</div>
            ))}
          </Group>
          <SimpleGrid component="dl" cols={2} spacing="xs" verticalSpacing={6} m={0}>
            {rest?.map(({ name, head, cell }) => (
              <Fact key={name} name={head}>
                {cell(call)}
              </Fact>
            ))}
          </SimpleGrid>
        </Paper>
      ))}
    </Stack>
  );
}

/** Clipped shows a long name shortened; the tooltip has the whole name. */
function Clipped({ text, title = text }: { readonly text: string; readonly title?: string }) {
  return (
    <Text inherit truncate maw={220} title={title}>
      {text}
    </Text>
  );
}
