/** The totals of groups of calls, one a row. */
import type { ReactNode } from "react";
import type { RequestTotals } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { useFormat } from "../language/format.ts";
import { texts, useTexts } from "../language/language.tsx";
import { Breakable } from "../parts/breakable.tsx";
import { ColumnList, type ListColumn } from "../parts/column-list.tsx";
import { Money } from "../parts/money.tsx";
import { tokensOf } from "./split.ts";

const said = texts(
  {
    totals: "Totals by group",
    requests: "Requests",
    errors: "Errors",
    tokens: "Tokens",
    slow: "95th percentile",
    cost: "Spend",
  },
  { totals: "分组合计", requests: "请求数", errors: "错误", tokens: "Token", slow: "耗时 P95", cost: "消费" },
);

interface Props {
  readonly of: readonly RequestTotals[];
  /** head is the heading of the groups. */
  readonly head: string;
  readonly nameOf: (group: string) => string;
  /** link shows a group's name as a link. */
  readonly link?: ((group: string, name: string) => ReactNode) | undefined;
  /** flush is whether it has no padding, since its container has some. */
  readonly flush?: boolean;
}

export function GroupTable({ of, head, nameOf, link, flush = false }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  const numeric = true;
  const columns: readonly ListColumn<RequestTotals>[] = [
    {
      ...{ name: "group", head, isHeadline: true, isName: true },
      cell: ({ group }) => (
        <span title={nameOf(group)}>{link ? link(group, nameOf(group)) : <Breakable>{nameOf(group)}</Breakable>}</span>
      ),
    },
    { ...{ name: "requests", head: t.requests, numeric }, cell: ({ requests }) => format.count(requests) },
    { ...{ name: "errors", head: t.errors, numeric }, cell: (one) => errorsOf(one, format.percent) },
    { ...{ name: "tokens", head: t.tokens, numeric }, cell: (one) => format.compact(tokensOf(one)) },
    {
      ...{ name: "slow", head: t.slow, numeric },
      cell: ({ durationP95Ms: slow }) => (slow === undefined ? "–" : format.duration(slow)),
    },
    { ...{ name: "cost", head: t.cost, numeric }, cell: ({ cost }) => <Money of={cost} /> },
  ];
  return (
    <ColumnList
      label={t.totals}
      entries={of}
      columns={columns}
      idOf={({ group }) => group}
      minWidth={460}
      table={{ fz: 13, verticalSpacing: flush ? 6 : "xs" }}
      flush={flush}
    />
  );
}

/** errorsOf formats the share of calls that failed. */
export function errorsOf({ errors, requests }: RequestTotals, percent: (share: number) => string): string {
  return requests === 0n ? "–" : percent(Number(errors) / Number(requests));
}
