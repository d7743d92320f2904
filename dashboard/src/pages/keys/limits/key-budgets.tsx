/** Shows how a key's budgets stand, a line each: for lists. */
import { Stack, Text } from "@mantine/core";
import type { ApiKey } from "../../../../../gen/modelgateway/v1/keys_pb.ts";
import { windowNameOf } from "../../../budgets/budget-values.ts";
import { useWindowNames } from "../../../budgets/window-names.ts";
import { useFormat } from "../../../language/format.ts";
import { texts, useTexts } from "../../../language/language.tsx";

const said = texts(
  {
    of: (spent: string, amount: string, window: string) => `${spent} of ${amount} ${window}`,
    spentUp: (window: string) => `The budget is spent ${window}: calls are refused`,
  },
  {
    of: (spent: string, amount: string, window: string) => `${window} ${spent} / ${amount}`,
    spentUp: (window: string) => `${window}预算已用尽：调用会被拒绝`,
  },
);

export function KeyBudgets({ of: { budgets } }: { readonly of: Pick<ApiKey, "budgets"> }) {
  const t = useTexts(said);
  const format = useFormat();
  const names = useWindowNames();
  if (budgets.length === 0) return null;
  return (
    <Stack gap={0}>
      {budgets.map((budget) => {
        const { id, spent, amount, remaining } = budget;
        const window = names.within(windowNameOf(budget));
        const isSpent = remaining === 0n;
        const exact = t.of(format.money(spent), format.money(amount), window);
        return (
          <Text
            key={id}
            size="xs"
            c={isSpent ? "var(--mantine-color-error)" : "dimmed"}
            title={isSpent ? `${exact}. ${t.spentUp(window)}` : exact}
          >
            {t.of(format.rounded(spent), format.rounded(amount), window)}
          </Text>
        );
      })}
    </Stack>
  );
}
