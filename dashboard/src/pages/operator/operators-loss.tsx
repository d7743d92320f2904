/** The operator's loss: what calls cost beyond their holds. It is shown where there is any. */

import { useQuery } from "@connectrpc/connect-query";
import { Alert, Stack, Text } from "@mantine/core";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { AccountLink } from "./account-link.tsx";

const said = texts(
  {
    title: "Operator's loss",
    sum: (waived: string, cost: string) => `${waived} were not charged, beside ${cost} that were.`,
    means:
      "Calls cost that beyond what was held for them. Their accounts pay what was held, and you pay your vendors the rest.",
    of: (waived: string) => `: ${waived}`,
  },
  {
    title: "运营方损失",
    sum: (waived: string, cost: string) => `${waived} 未收取，已收取 ${cost}。`,
    means: "这些调用的费用超出了为其预留的金额。账户只支付预留部分，其余由运营方向厂商支付。",
    of: (waived: string) => `：${waived}`,
  },
);

/** shown is how many accounts are named. */
const shown = 5;

export function OperatorsLoss() {
  const t = useTexts(said);
  const format = useFormat();
  const { data } = useQuery(OperatorService.method.getLosses, {});
  if (!data || data.waived === 0n) return null;
  return (
    <Alert color="yellow" title={t.title}>
      <Stack gap={4}>
        <Text size="sm">{t.sum(format.money(data.waived), format.money(data.cost))}</Text>
        <Text size="sm" c="dimmed">
          {t.means}
        </Text>
        {data.accounts.slice(0, shown).map(({ accountId, name, waived }) => (
          <Text size="sm" key={accountId}>
            <AccountLink id={accountId}>{name}</AccountLink>
            {t.of(format.money(waived))}
          </Text>
        ))}
      </Stack>
    </Alert>
  );
}
