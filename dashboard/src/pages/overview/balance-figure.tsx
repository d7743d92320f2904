/** The account's balance, what its tier allows, and the way to more of both. */
import { Anchor, Group } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { GetAccountResponse } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { counted } from "../../language/counted.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Figure, Note } from "../../parts/figure.tsx";
import { Money } from "../../parts/money.tsx";
import { useUser } from "../../session.tsx";
import { AddFunds } from "../operator/add-funds.tsx";

const said = texts(
  {
    balance: "Balance",
    held: (amount: string) => `${amount} held by running calls`,
    postpaid: "Postpaid",
    tier: (name: string, left: string, limit: string) =>
      `${name}: ${left} of ${counted(limit, "request")} left this minute`,
    recharge: "Recharge",
  },
  {
    balance: "余额",
    held: (amount: string) => `进行中的调用已预留 ${amount}`,
    postpaid: "后付费",
    tier: (name: string, left: string, limit: string) => `${name}：本分钟剩余 ${left} / ${limit} 次请求`,
    recharge: "充值",
  },
);

export function BalanceFigure({ of: { account, requestsRemaining } }: { readonly of: GetAccountResponse }) {
  const t = useTexts(said);
  const format = useFormat();
  const { operator } = useUser();
  if (!account) return null;
  const { balance, held, postpaid, tier } = account;
  return (
    <Figure
      title={t.balance}
      value={<Money of={balance} />}
      change={
        <Group ml="auto">
          {operator ? (
            <AddFunds account={account} as="figure" />
          ) : (
            <Anchor component={Link} to="/recharge" size="sm">
              {t.recharge}
            </Anchor>
          )}
        </Group>
      }
    >
      {held > 0n && <Note>{t.held(format.rounded(held))}</Note>}
      {postpaid && held === 0n && <Note>{t.postpaid}</Note>}
      {tier && <Note>{t.tier(tier.name, format.count(requestsRemaining), format.count(tier.requestsPerMinute))}</Note>}
    </Figure>
  );
}
