/** A list of calls: running ones first, then ended ones. Cards where there is no room for a table. */
import type { ReactNode } from "react";
import type { Request, Running } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { texts, useTexts } from "../language/language.tsx";
import { ColumnList, type ListColumn } from "./column-list.tsx";
import { type RequestColumn, type RequestNames, useRequestColumns } from "./request-columns.tsx";
import classes from "./request-table.module.css";
import text from "./text.module.css";

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
  const t = useTexts(said);
  const rows: Row[] = [
    ...running.map((call) => ({ id: call.id, isRunning: true, cell: (of: RequestColumn) => of.running(call) })),
    ...requests.map((call) => ({ id: call.id, isRunning: false, cell: (of: RequestColumn) => of.ended(call) })),
  ];
  return (
    <ColumnList
      label={t.requests}
      entries={rows}
      columns={columns.map(listColumn)}
      idOf={({ id }) => id}
      minWidth={940}
      table={{ fz: 13, verticalSpacing: 8, horizontalSpacing: "xs", highlightOnHover: true }}
      classOf={({ isRunning }) => (isRunning ? classes.running : undefined)}
    />
  );
}

const headlines = ["time", "outcome"];

function listColumn(column: RequestColumn): ListColumn<Row> {
  const { name, head, numeric, isName, minWidth } = column;
  // The outcome may take two lines, so that the last column is not cut off.
  const oneLine = isName || numeric || name === "outcome" ? {} : { className: text.nowrap };
  const cellProps = { ...oneLine, miw: minWidth };
  return {
    ...{ name, head, numeric, isName, isHeadline: headlines.includes(name), cellProps },
    cell: ({ cell }) => cell(column),
  };
}
