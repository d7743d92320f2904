/** All tiers: what each allows, which one the account has, and what the others require. */
import { Badge, Group, Table, Text } from "@mantine/core";
import type { GetAccountResponse, Tier } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Section } from "../../parts/section.tsx";
import { WideTable } from "../../parts/wide-table.tsx";

const said = texts(
  {
    title: "Tiers",
    all: "All tiers",
    about: "The tier follows from all that was recharged, less refunds. Grants do not count.",
    tier: "Tier",
    from: "Recharged from",
    requests: "Requests a minute",
    tokens: "Tokens a minute",
    unbounded: "No bound",
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
    unbounded: "不限",
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
  return (
    <Section title={t.title} about={t.about}>
      <WideTable label={t.all} minWidth={600} flush>
        <Table.Thead style={{ whiteSpace: "nowrap" }}>
          <Table.Tr>
            <Table.Th>{t.tier}</Table.Th>
            <Table.Th ta="right">{t.from}</Table.Th>
            <Table.Th ta="right">{t.requests}</Table.Th>
            <Table.Th ta="right">{t.tokens}</Table.Th>
            <Table.Th ta="right">{t.missing}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody style={{ fontVariantNumeric: "tabular-nums", whiteSpace: "nowrap" }}>
          {tiers.map((tier) => (
            <Table.Tr key={tier.name} aria-current={isCurrent(tier) || undefined}>
              <Table.Td>
                <Group gap="xs" wrap="nowrap">
                  <Text size="sm" fw={isCurrent(tier) ? 600 : 400}>
                    {tier.name}
                  </Text>
                  {isCurrent(tier) && (
                    <Badge variant="default" miw="max-content" size="sm" tt="none" radius="sm">
                      {t.current}
                    </Badge>
                  )}
                </Group>
              </Table.Td>
              <Table.Td ta="right">{format.money(tier.recharge)}</Table.Td>
              <Table.Td ta="right">{format.count(tier.requestsPerMinute)}</Table.Td>
              <Table.Td ta="right">
                {tier.tokensPerMinute === undefined ? t.unbounded : format.count(tier.tokensPerMinute)}
              </Table.Td>
              <Table.Td ta="right">{isCurrent(tier) ? "–" : missing(tier)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </WideTable>
    </Section>
  );
}
