/** The tiers and the rates of single RPCs, as tables. */
import { Code, Text } from "@mantine/core";
import type { Tier } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import type { RpcRate } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ColumnList, type ListColumn } from "../../parts/column-list.tsx";
import { Parted } from "../../parts/parted.tsx";

const said = texts(
  {
    tiers: "Tiers",
    tier: "Tier",
    from: "Recharged from",
    requests: "Requests a minute",
    tokens: "Tokens a minute",
    noLimit: "No limit",
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
    noLimit: "不限",
    rates: "单个 RPC 的速率",
    rpc: "RPC",
    perSecond: "每秒调用次数",
    none: "没有单独限制速率的 RPC。",
  },
);

export function TierTable({ tiers }: { readonly tiers: readonly Tier[] }) {
  const t = useTexts(said);
  const format = useFormat();
  const numeric = true;
  const columns: readonly ListColumn<Tier>[] = [
    { name: "tier", head: t.tier, isHeadline: true, cell: ({ name }) => name },
    { ...{ name: "from", head: t.from, numeric }, cell: ({ recharge }) => format.money(recharge) },
    {
      ...{ name: "requests", head: t.requests, numeric },
      cell: ({ requestsPerMinute }) => format.count(requestsPerMinute),
    },
    {
      ...{ name: "tokens", head: t.tokens, numeric },
      cell: ({ tokensPerMinute }) => (tokensPerMinute === undefined ? t.noLimit : format.count(tokensPerMinute)),
    },
  ];
  return (
    <ColumnList label={t.tiers} entries={tiers} columns={columns} idOf={({ name }) => name} minWidth={480} flush />
  );
}

export function RateTable({ rates }: { readonly rates: readonly RpcRate[] }) {
  const t = useTexts(said);
  const format = useFormat();
  if (rates.length === 0) return <Text size="sm">{t.none}</Text>;
  const columns: readonly ListColumn<RpcRate>[] = [
    {
      ...{ name: "rpc", head: t.rpc, isHeadline: true },
      cell: ({ rpc }) => (
        <Code>
          <Parted of={rpc} />
        </Code>
      ),
    },
    {
      ...{ name: "perSecond", head: t.perSecond, numeric: true },
      cell: ({ perSecond }) => format.count(perSecond),
    },
  ];
  return <ColumnList label={t.rates} entries={rates} columns={columns} idOf={({ rpc }) => rpc} minWidth={400} flush />;
}
