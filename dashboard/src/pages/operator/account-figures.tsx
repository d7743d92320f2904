/** An account's figures: balance, recharges, tier. */
import { Code, Group, SimpleGrid, Text } from "@mantine/core";
import type { Account } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { counted } from "../../language/counted.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Copy } from "../../parts/copy.tsx";
import { Figure, Note } from "../../parts/figure.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Money } from "../../parts/money.tsx";
import text from "../../parts/text.module.css";
import { AccountState, useBillingWord } from "./account-state.tsx";

const said = texts(
  {
    balance: "Balance",
    held: (amount: string) => `${amount} held by running calls`,
    recharged: "Recharged",
    net: "Less refunds; decides the tier",
    tier: "Tier",
    rate: (count: string) => `${counted(count, "request")} a minute`,
    next: (name: string, amount: string) => `${name} from ${amount}`,
    top: "The highest tier",
    state: "Status",
    what: "account id",
    created: "Created",
  },
  {
    balance: "余额",
    held: (amount: string) => `其中 ${amount} 被进行中的调用预留`,
    recharged: "累计充值",
    net: "已扣除退款，决定等级",
    tier: "等级",
    rate: (count: string) => `每分钟 ${count} 次请求`,
    next: (name: string, amount: string) => `${amount} 起升至 ${name}`,
    top: "已是最高等级",
    state: "状态",
    what: "账户 ID",
    created: "创建于",
  },
);

export function AccountFigures({ account }: { readonly account: Account }) {
  const t = useTexts(said);
  const format = useFormat();
  const billing = useBillingWord();
  const { tier, nextTier } = account;
  return (
    <>
      <Group gap="xs" mt={-12} fz="sm">
        <Code className={text.anywhere}>{account.id}</Code>
        <Copy value={account.id} what={t.what} />
        <Text size="sm" c="dimmed">
          {t.created} <Moment at={account.createdAt} as="day" />
        </Text>
      </Group>
      <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }}>
        <Figure title={t.balance} value={<Money of={account.balance} />}>
          <Note>{t.held(format.money(account.held))}</Note>
        </Figure>
        <Figure title={t.recharged} value={<Money of={account.recharged} />}>
          <Note>{t.net}</Note>
        </Figure>
        <Figure title={t.tier} value={tier?.name ?? "–"}>
          <Note>
            {tier && t.rate(format.count(tier.requestsPerMinute))}
            {" · "}
            {nextTier ? t.next(nextTier.name, format.money(nextTier.recharge)) : t.top}
          </Note>
        </Figure>
        <Figure title={t.state} value={<AccountState of={account} />}>
          <Note>
            {account.suspendedAt && (
              <>
                <Moment at={account.suspendedAt} />
                {" · "}
              </>
            )}
            {billing(account)}
          </Note>
        </Figure>
      </SimpleGrid>
    </>
  );
}
