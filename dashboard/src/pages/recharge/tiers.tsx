/** All tiers: what each allows, which one the account has, and what the others require. */
import { Badge, Group, Text } from "@mantine/core";
import type { GetAccountResponse, Tier } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ColumnList, type ListColumn } from "../../parts/column-list.tsx";
import { Section } from "../../parts/section.tsx";

const said = texts(
  {
    title: "Tiers",
    all: "All tiers",
    about: "The tier follows from all that was recharged, less refunds. Grants do not count.",
    tier: "Tier",
    from: "Recharged from",
    requests: "Requests a minute",
    tokens: "Tokens a minute",
    noLimit: "No limit",
    missing: "Still to recharge",
    current: "Current",
    reached: "Reached",
  },
  {
    title: "等级",
    all: "所有等级",
    about: "等级由累计充值（扣除退款）决定，赠送金额不计入。",
    tier: "等级",
    from: "累计充值达到",
    requests: "每分钟请求数",
    tokens: "每分钟 Token 数",
    noLimit: "不限",
    missing: "还需充值",
    current: "当前",
    reached: "已达到",
  },
);

export function Tiers({ of: { tiers, account } }: { readonly of: GetAccountResponse }) {
  const t = useTexts(said);
  const format = useFormat();
  const recharged = account?.recharged ?? 0n;
  const isCurrent = (tier: Tier) => tier.name === account?.tier?.name;
  const missing = (tier: Tier) => (tier.recharge > recharged ? format.money(tier.recharge - recharged) : t.reached);
  const columns: readonly ListColumn<Tier>[] = [
    {
      ...{ name: "tier", head: t.tier, isHeadline: true },
      cell: (tier) => <Name of={tier} current={isCurrent(tier) ? t.current : undefined} />,
    },
    { name: "from", head: t.from, numeric: true, cell: ({ recharge }) => format.money(recharge) },
    {
      ...{ name: "requests", head: t.requests, numeric: true },
      cell: ({ requestsPerMinute }) => format.count(requestsPerMinute),
    },
    {
      ...{ name: "tokens", head: t.tokens, numeric: true },
      cell: ({ tokensPerMinute }) => (tokensPerMinute === undefined ? t.noLimit : format.count(tokensPerMinute)),
    },
    {
      ...{ name: "missing", head: t.missing, numeric: true },
      cell: (tier) => (isCurrent(tier) ? "–" : missing(tier)),
    },
  ];
  return (
    <Section title={t.title} about={t.about}>
      <ColumnList label={t.all} entries={tiers} columns={columns} idOf={({ name }) => name} minWidth={600} flush />
    </Section>
  );
}

/** Name is a tier's name, marked where it is the account's. */
function Name({ of: { name }, current }: { readonly of: Tier; readonly current: string | undefined }) {
  return (
    <Group gap="xs" wrap="nowrap" aria-current={current === undefined ? undefined : true}>
      <Text size="sm" fw={current === undefined ? 400 : 600}>
        {name}
      </Text>
      {current !== undefined && (
        <Badge variant="default" miw="max-content" size="sm" tt="none" radius="sm">
          {current}
        </Badge>
      )}
    </Group>
  );
}
