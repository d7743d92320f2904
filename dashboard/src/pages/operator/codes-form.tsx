/** The form of a new batch of redeem codes. */
import { NumberInput, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { texts, useTexts } from "../../language/language.tsx";
import { readAmount } from "../../parts/amount.ts";
import { AmountField, useAmountCheck } from "../../parts/amount-field.tsx";
import { Failure } from "../../parts/failure.tsx";
import { FormButtons } from "../../parts/form-buttons.tsx";

const said = texts(
  {
    amount: "Amount of each",
    count: "How many",
    badCount: "Enter a whole number from 1 to 1,000",
    expiry: "Last day",
    expiryHint: "In your time zone. Leave it empty for codes that never expire.",
    past: "This day is over",
    note: "Note",
    noteHint: "For the records: what they are for, who gets them",
    create: "Create",
  },
  {
    amount: "面额",
    count: "数量",
    badCount: "请输入 1 到 1,000 的整数",
    expiry: "有效期至",
    expiryHint: "以您的时区为准，含当日。留空则永不过期。",
    past: "该日期已过",
    note: "备注",
    noteHint: "供存档，例如用途或发放对象",
    create: "创建",
  },
);

export interface CodesWanted {
  readonly amount: bigint;
  readonly count: number;
  readonly expiresAt: Date | undefined;
  readonly note: string;
}

interface Props {
  readonly busy: boolean;
  readonly error: unknown;
  readonly onSubmit: (wanted: CodesWanted) => void;
  readonly onCancel: () => void;
}

export function CodesForm({ busy, error, onSubmit, onCancel }: Props) {
  const t = useTexts(said);
  const checkAmount = useAmountCheck();
  const form = useForm({
    initialValues: { amount: "", count: 10 as number | string, day: "", note: "" },
    validate: {
      amount: checkAmount,
      count: (value) => (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 1000 ? null : t.badCount),
      day: (day) => (day !== "" && endOf(day).getTime() <= Date.now() ? t.past : null),
    },
  });
  const submit = form.onSubmit(({ amount, count, day, note }) => {
    const millionths = readAmount(amount);
    if (millionths === undefined) return;
    const expiresAt = day ? endOf(day) : undefined;
    onSubmit({ amount: millionths, count: Number(count), expiresAt, note: note.trim() });
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <AmountField label={t.amount} data-autofocus {...form.getInputProps("amount")} />
        <NumberInput
          label={t.count}
          min={1}
          max={1000}
          allowDecimal={false}
          clampBehavior="none"
          {...form.getInputProps("count")}
        />
        <TextInput type="date" label={t.expiry} description={t.expiryHint} {...form.getInputProps("day")} />
        <TextInput label={t.note} description={t.noteHint} maxLength={500} {...form.getInputProps("note")} />
        {error != null && <Failure error={error} />}
        <FormButtons action={t.create} busy={busy} onCancel={onCancel} />
      </Stack>
    </form>
  );
}

/** endOf returns the midnight after a day such as `2026-01-31`, in the reader's time zone. */
function endOf(day: string): Date {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(year, month - 1, date + 1);
}
