/** A field for an amount of money in the gateway's unit. */
import { TextInput, type TextInputProps } from "@mantine/core";
import { texts, useTexts } from "../language/language.tsx";
import { useSession } from "../session.tsx";
import { readAmount } from "./amount.ts";

const said = texts(
  { amount: "Amount", wrong: "Enter an amount above 0, such as 12.50, with at most six decimal places" },
  { amount: "金额", wrong: "请输入大于 0 的金额，例如 12.50，最多六位小数" },
);

export function AmountField(props: TextInputProps) {
  const t = useTexts(said);
  const { unit } = useSession();
  return (
    <TextInput
      label={t.amount}
      inputMode="decimal"
      autoComplete="off"
      leftSection={<span aria-hidden>{unit.symbol}</span>}
      rightSection={<span aria-hidden>{unit.code}</span>}
      rightSectionWidth={56}
      {...props}
    />
  );
}

/** most is a thousand million units, in millionths: the most that the gateway records at once. */
const most = 1_000_000_000_000_000n;

/** useAmountCheck returns what is wrong with an amount, if anything is. */
export function useAmountCheck(): (text: string) => string | null {
  const t = useTexts(said);
  return (text) => {
    const amount = readAmount(text);
    return amount !== undefined && amount > 0n && amount <= most ? null : t.wrong;
  };
}
