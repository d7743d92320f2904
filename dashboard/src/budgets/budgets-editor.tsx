/**
 * The fields of several budgets: what may be spent by the day, week or month. The form that has them sends nothing while one of them is
 * not valid (`isBudgetValid` of budget-values.ts); what is wrong is shown beside it.
 */
import { Group, Input, Select, Stack, Text } from "@mantine/core";
import { texts, useTexts } from "../language/language.tsx";
import { AmountField, useAmountCheck } from "../parts/amount-field.tsx";
import { AddRow, RemoveRow } from "../parts/row-buttons.tsx";
import { type BudgetValue, type BudgetWindowName, budgetWindows, maxBudgets, newBudgetValue } from "./budget-values.ts";
import { useWindowNames } from "./window-names.ts";

const said = texts(
  {
    title: "Budgets",
    about:
      "What may be spent in a window of time. All of them hold at once; calls beyond one are refused until its window ends.",
    amount: "Amount",
    window: "Window",
    add: "Add a budget",
    remove: "Remove the budget",
    most: "There can be ten budgets at most.",
  },
  {
    title: "预算",
    about: "在一段时间内可消费的金额。所有预算同时生效；超出任一预算的调用会被拒绝，直到该时段结束。",
    amount: "金额",
    window: "时段",
    add: "添加预算",
    remove: "移除此预算",
    most: "最多可设置十个预算。",
  },
);

interface Props {
  readonly value: readonly BudgetValue[];
  readonly onChange: (value: BudgetValue[]) => void;
  /** shown is whether faults are shown of fields that are empty, too: after the first attempt to send. */
  readonly shown?: boolean;
  /** about is said in place of the usual words. */
  readonly about?: string;
}

export function BudgetsEditor({ value, onChange, shown = false, about }: Props) {
  const t = useTexts(said);
  const replace = (key: string, by: Partial<BudgetValue>) =>
    onChange(value.map((one) => (one.key === key ? { ...one, ...by } : one)));
  return (
    <Input.Wrapper
      label={t.title}
      description={about ?? t.about}
      labelElement="div"
      // The description stands before the rows, which may be many.
      inputWrapperOrder={["label", "description", "error", "input"]}
    >
      <Stack gap="xs" mt="xs">
        {value.map((budget) => (
          <BudgetFields
            key={budget.key}
            budget={budget}
            shown={shown}
            onChange={(by) => replace(budget.key, by)}
            onRemove={() => onChange(value.filter(({ key }) => key !== budget.key))}
          />
        ))}
        {value.length < maxBudgets ? (
          <AddRow onClick={() => onChange([...value, newBudgetValue()])}>{t.add}</AddRow>
        ) : (
          <Text size="xs" c="dimmed">
            {t.most}
          </Text>
        )}
      </Stack>
    </Input.Wrapper>
  );
}

interface FieldsProps {
  readonly budget: BudgetValue;
  readonly shown: boolean;
  readonly onChange: (by: Partial<BudgetValue>) => void;
  readonly onRemove: () => void;
}

function BudgetFields({ budget, shown, onChange, onRemove }: FieldsProps) {
  const t = useTexts(said);
  const names = useWindowNames();
  const check = useAmountCheck();
  return (
    <Group gap="xs" align="flex-start" wrap="nowrap">
      <Group gap="xs" align="flex-start" flex="1 1 0">
        <AmountField
          label={undefined}
          aria-label={t.amount}
          flex="1 1 110px"
          miw={0}
          value={budget.amount}
          onChange={(event) => onChange({ amount: event.currentTarget.value })}
          error={(shown || budget.amount.trim() !== "") && check(budget.amount)}
        />
        <Select
          aria-label={t.window}
          flex="1 1 190px"
          miw={0}
          data={budgetWindows.map((window) => ({ value: window, label: names.choice(window) }))}
          value={budget.window}
          onChange={(window) => window && onChange({ window: window as BudgetWindowName })}
          allowDeselect={false}
        />
      </Group>
      <RemoveRow label={t.remove} onClick={onRemove} />
    </Group>
  );
}
