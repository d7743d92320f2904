/** The account's balance, tier, rate and spending. */
import { Progress, SimpleGrid } from "@mantine/core";
import type { GetAccountResponse } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Figure, Note } from "../../parts/figure.tsx";
import { shareOf } from "./split.ts";

const said = texts(
  {
    balance: "Balance",
    held: (amount: string) => `${amount} held by running calls`,
    nothingHeld: "Nothing is held by running calls",
    postpaid: "Postpaid",
    tier: "Tier",
    next: (amount: string, tier: string) => `Recharge ${amount} more for ${tier}`,
    highest: "The highest tier",
    progress: "Recharge towards the next tier",
    left: "Requests left this minute",
    ofLimit: (left: string, limit: string) => `${left} of ${limit}`,
    rate: (limit: string) => `The tier allows ${limit} a minute`,
    spent: "Spent",
    requests: (count: string) => (count === "1" ? "in 1 request" : `in ${count} requests`),
  },
  {
    balance: "余额",
    held: (amount: string) => `进行中的调用已预留 ${amount}`,
    nothingHeld: "进行中的调用没有预留",
    postpaid: "后付费",
    tier: "等级",
    next: (amount: string, tier: string) => `再充值 ${amount} 即可升至 ${tier}`,
    highest: "已是最高等级",
    progress: "距下一等级的充值进度",
    left: "本分钟剩余请求数",
    ofLimit: (left: string, limit: string) => `${left} / ${limit}`,
    rate: (limit: string) => `当前等级每分钟允许 ${limit} 次`,
    spent: "消费",
    requests: (count: string) => `共 ${count} 次请求`,
  },
);

interface Props {
  readonly of: GetAccountResponse;
  /** spent is the spending in the selected time; undefined: still loading. */
  readonly spent: { readonly cost: bigint; readonly requests: bigint } | undefined;
  /** span is the selected time. */
  readonly span: string;
}

export function AccountCards({ of: { account, requestsRemaining }, spent, span }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  if (!account) return null;
  const { balance, held, postpaid, tier, nextTier, recharged } = account;
  const perMinute = tier?.requestsPerMinute ?? 0;
  const limit = format.count(perMinute);
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }}>
      <Figure title={t.balance} value={format.money(balance)}>
        <Note>{held > 0n ? t.held(format.money(held)) : postpaid ? t.postpaid : t.nothingHeld}</Note>
      </Figure>
      <Figure title={t.tier} value={tier?.name ?? "–"}>
        {nextTier && <Progress size="sm" aria-label={t.progress} value={shareOf(recharged, nextTier.recharge) * 100} />}
        <Note>{nextTier ? t.next(format.money(nextTier.recharge - recharged), nextTier.name) : t.highest}</Note>
      </Figure>
      <Figure title={t.left} value={t.ofLimit(format.count(requestsRemaining), limit)}>
        <Progress size="sm" aria-label={t.left} value={perMinute === 0 ? 0 : (requestsRemaining / perMinute) * 100} />
        <Note>{t.rate(limit)}</Note>
      </Figure>
      <Figure title={`${t.spent} · ${span}`} value={spent && format.money(spent.cost)}>
        {spent && <Note>{t.requests(format.count(spent.requests))}</Note>}
      </Figure>
    </SimpleGrid>
  );
}
