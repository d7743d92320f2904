/** The totals of groups of calls, one a row. */
import { Table } from "@mantine/core";
import type { ReactNode } from "react";
import type { RequestTotals } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { useFormat } from "../language/format.ts";
import { texts, useTexts } from "../language/language.tsx";
import { Money } from "../parts/money.tsx";
import text from "../parts/text.module.css";
import { WideTable } from "../parts/wide-table.tsx";
import { tokensOf } from "./split.ts";

const said = texts(
  {
    totals: "Totals by group",
    requests: "Requests",
    errors: "Errors",
    tokens: "Tokens",
    slow: "95th percentile",
    cost: "Cost",
  },
  { totals: "分组合计", requests: "请求数", errors: "错误", tokens: "Token", slow: "耗时 P95", cost: "费用" },
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
  return (
    <WideTable label={t.totals} minWidth={560} flush={flush} fz={13} verticalSpacing={flush ? 6 : "xs"}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{head}</Table.Th>
          <Table.Th className={text.number}>{t.requests}</Table.Th>
          <Table.Th className={text.number}>{t.errors}</Table.Th>
          <Table.Th className={text.number}>{t.tokens}</Table.Th>
          <Table.Th className={text.number}>{t.slow}</Table.Th>
          <Table.Th className={text.number}>{t.cost}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {of.map((one) => (
          <Table.Tr key={one.group}>
            <Table.Td className={text.name} title={nameOf(one.group)}>
              {link ? link(one.group, nameOf(one.group)) : nameOf(one.group)}
            </Table.Td>
            <Table.Td className={text.number}>{format.count(one.requests)}</Table.Td>
            <Table.Td className={text.number}>{errorsOf(one, format.percent)}</Table.Td>
            <Table.Td className={text.number}>{format.compact(tokensOf(one))}</Table.Td>
            <Table.Td className={text.number}>
              {one.durationP95Ms === undefined ? "–" : format.duration(one.durationP95Ms)}
            </Table.Td>
            <Table.Td className={text.number}>
              <Money of={one.cost} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  );
}

/** errorsOf formats the share of calls that failed. */
export function errorsOf({ errors, requests }: RequestTotals, percent: (share: number) => string): string {
  return requests === 0n ? "–" : percent(Number(errors) / Number(requests));
}
