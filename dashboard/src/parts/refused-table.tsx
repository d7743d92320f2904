/** A list of refused calls: when, why, of which key and model. Cards where there is no room for a table. */
import { Anchor, Group, Text } from "@mantine/core";
import { IconBan } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { Refused } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { useFormat } from "../language/format.ts";
import { texts, useTexts } from "../language/language.tsx";
import { Breakable } from "./breakable.tsx";
import { ColumnList, type ListColumn } from "./column-list.tsx";
import { useReasonNames, useRefusedDetail } from "./refusal-reasons.ts";
import { KeyOf, type RequestNames } from "./request-columns.tsx";
import text from "./text.module.css";

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

export function RefusedTable({ refused, ...names }: Props) {
  const t = useTexts(said);
  const columns = useColumns(names);
  return (
    <ColumnList
      label={t.refused}
      entries={refused}
      columns={columns}
      idOf={({ id }) => id}
      minWidth={900}
      table={{ fz: 13, verticalSpacing: 8, horizontalSpacing: "xs", highlightOnHover: true }}
    />
  );
}

/** oneLine is set for cells that do not wrap. */
const oneLine = { className: text.nowrap };

function useColumns({ keyNames, account, page = "/usage/$requestId" }: RequestNames): readonly ListColumn<Refused>[] {
  const t = useTexts(said);
  const wordsOf = useRefusedDetail();
  const format = useFormat();
  const columns: ListColumn<Refused>[] = [
    {
      ...{ name: "time", head: t.time, isHeadline: true, cellProps: oneLine },
      cell: ({ id, createdAt }) => (
        <Anchor component={Link} to={page} params={{ requestId: id } as never} fz="inherit" title={id}>
          {createdAt && <span title={format.exactly(createdAt)}>{format.briefly(createdAt)}</span>}
        </Anchor>
      ),
    },
    {
      ...{ name: "reason", head: t.reason, isHeadline: true, cellProps: oneLine },
      cell: (call) => <ReasonMark of={call} />,
    },
    {
      ...{ name: "model", head: t.model, isName: true, cellProps: { miw: 125 } },
      cell: ({ model }) => <Breakable>{model || t.unknown}</Breakable>,
    },
    {
      ...{ name: "key", head: t.key, isName: true },
      cell: ({ keyId }) => <KeyOf id={keyId} names={keyNames} />,
    },
    { name: "operation", head: t.operation, cellProps: oneLine, cell: ({ operation }) => operation },
    {
      ...{ name: "detail", head: t.detail, isLong: true, cellProps: { miw: 220 } },
      cell: ({ detail }) => wordsOf(detail) || t.unknown,
    },
  ];
  if (account) {
    const cell = (call: Refused) => account(call.accountId);
    columns.splice(1, 0, { name: "account", head: t.account, isName: true, cell });
  }
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
