/** BudgetMeters shows how budgets stand: what is spent of each, what running calls hold, and when its window ends. */
import { Badge, Group, Progress, Stack, Text } from "@mantine/core";
import type { Budget } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { useFormat } from "../language/format.ts";
import { texts, useTexts } from "../language/language.tsx";
import { Moment } from "../parts/moment.tsx";
import { windowNameOf } from "./budget-values.ts";
import { useWindowNames } from "./window-names.ts";

const said = texts(
  {
    of: (spent: string, amount: string, window: string) => `${spent} of ${amount} spent ${window}`,
    left: (amount: string) => `${amount} left`,
    held: (amount: string) => `${amount} held by running calls`,
    resets: "Begins anew",
    frees: "Frees up from",
    operators: "Set by the operator",
    spentUp: "Spent: calls are refused",
    meter: (window: string) => `Spent ${window}`,
  },
  {
    of: (spent: string, amount: string, window: string) => `${window}已消费 ${spent} / ${amount}`,
    left: (amount: string) => `剩余 ${amount}`,
    held: (amount: string) => `其中 ${amount} 被进行中的调用预留`,
    resets: "重新计算于",
    frees: "开始释放于",
    operators: "由网关管理员设置",
    spentUp: "已用尽：调用会被拒绝",
    meter: (window: string) => `${window}已消费`,
  },
);

export function BudgetMeters({ budgets }: { readonly budgets: readonly Budget[] }) {
  return (
    <Stack gap="md">
      {budgets.map((budget) => (
        <BudgetMeter key={budget.id} budget={budget} />
      ))}
    </Stack>
  );
}

function BudgetMeter({ budget }: { readonly budget: Budget }) {
  const t = useTexts(said);
  const format = useFormat();
  const window = useWindowNames().within(windowNameOf(budget));
  const { amount, spent, held, remaining, byOperator, rolling, windowEndsAt } = budget;
  const isSpent = remaining === 0n;
  return (
    <Stack gap={4}>
      <Group justify="space-between" gap="xs">
        <Text
          size="sm"
          style={{ fontVariantNumeric: "tabular-nums" }}
          title={t.of(format.money(spent), format.money(amount), window)}
        >
          {t.of(format.rounded(spent), format.rounded(amount), window)}
        </Text>
        {byOperator && (
          <Badge variant="default" size="sm" tt="none" radius="sm" miw="max-content">
            {t.operators}
          </Badge>
        )}
      </Group>
      <Progress.Root size="md">
        <Progress.Section
          value={shareOf(spent, amount)}
          {...(isSpent ? { color: "red" } : {})}
          aria-label={t.meter(window)}
        />
        {held > 0n && (
          <Progress.Section value={shareOf(held, amount)} color="gray" aria-label={t.held(format.money(held))} />
        )}
      </Progress.Root>
      <Text size="xs" c="dimmed">
        {isSpent ? t.spentUp : <span title={t.left(format.money(remaining))}>{t.left(format.rounded(remaining))}</span>}
        {held > 0n && ` · ${t.held(format.rounded(held))}`}
        {windowEndsAt && (
          <>
            {` · ${rolling ? t.frees : t.resets} `}
            <Moment at={windowEndsAt} />
          </>
        )}
      </Text>
    </Stack>
  );
}

/** shareOf returns a part in percent, 0 to 100: for a picture, and no sum. */
function shareOf(part: bigint, whole: bigint): number {
  return whole <= 0n ? 100 : Math.min(100, Number((part * 1000n) / whole) / 10);
}
