/** The tiers and the rates of single RPCs, as tables. */
import { Code, Table, Text } from "@mantine/core";
import type { Tier } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import type { RpcRate } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import text from "../../parts/text.module.css";
import { WideTable } from "../../parts/wide-table.tsx";

const said = texts(
  {
    tiers: "Tiers",
    tier: "Tier",
    from: "Recharged from",
    requests: "Requests a minute",
    tokens: "Tokens a minute",
    unbounded: "No bound",
    rates: "Rates of single RPCs",
    rpc: "RPC",
    perSecond: "Calls a second",
    none: "No RPC has a rate of its own.",
  },
  {
    tiers: "等级",
    tier: "等级",
    from: "累计充值达到",
    requests: "每分钟请求数",
    tokens: "每分钟 Token 数",
    unbounded: "不限",
    rates: "单个 RPC 的频率",
    rpc: "RPC",
    perSecond: "每秒调用次数",
    none: "没有单独限制频率的 RPC。",
  },
);

export function TierTable({ tiers }: { readonly tiers: readonly Tier[] }) {
  const t = useTexts(said);
  const format = useFormat();
  return (
    <WideTable label={t.tiers} minWidth={520} flush>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t.tier}</Table.Th>
          <Table.Th className={text.number}>{t.from}</Table.Th>
          <Table.Th className={text.number}>{t.requests}</Table.Th>
          <Table.Th className={text.number}>{t.tokens}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {tiers.map(({ name, recharge, requestsPerMinute, tokensPerMinute }) => (
          <Table.Tr key={name}>
            <Table.Td>{name}</Table.Td>
            <Table.Td className={text.number}>{format.money(recharge)}</Table.Td>
            <Table.Td className={text.number}>{format.count(requestsPerMinute)}</Table.Td>
            <Table.Td className={text.number}>
              {tokensPerMinute === undefined ? t.unbounded : format.count(tokensPerMinute)}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  );
}

export function RateTable({ rates }: { readonly rates: readonly RpcRate[] }) {
  const t = useTexts(said);
  const format = useFormat();
  if (rates.length === 0) return <Text size="sm">{t.none}</Text>;
  return (
    <WideTable label={t.rates} minWidth={280} flush>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t.rpc}</Table.Th>
          <Table.Th className={text.number}>{t.perSecond}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rates.map(({ rpc, perSecond }) => (
          <Table.Tr key={rpc}>
            <Table.Td>
              <Code>{rpc}</Code>
            </Table.Td>
            <Table.Td className={text.number}>{format.count(perSecond)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  );
}
