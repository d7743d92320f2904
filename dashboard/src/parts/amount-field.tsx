/** A field for an amount of money in the gateway's unit. */
import { TextInput, type TextInputProps } from "@mantine/core";
import { texts, useTexts } from "../language/language.tsx";
import { useSession } from "../session.tsx";
import { isAmount } from "./amount.ts";

const said = texts(
  {
    amount: "Amount",
    wrong: "Enter an amount above 0, such as 12.50: at most 1000000000, with six decimal places at most",
    wrongLimit: "Enter an amount, such as 12.50: at most 1000000000, with six decimal places at most",
  },
  {
    amount: "金额",
    wrong: "请输入大于 0 的金额，例如 12.50；不超过 1000000000，最多六位小数",
    wrongLimit: "请输入金额，例如 12.50；不超过 1000000000，最多六位小数",
  },
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

/** useAmountCheck returns what is wrong with an amount, if anything is. */
export function useAmountCheck(): (text: string) => string | null {
  const t = useTexts(said);
  return (text) => (isAmount(text, 1n) ? null : t.wrong);
}

/** useLimitCheck returns what is wrong with a limit, if anything is. It may be 0, and an empty one is none. */
export function useLimitCheck(): (text: string) => string | null {
  const t = useTexts(said);
  return (text) => (text.trim() === "" || isAmount(text, 0n) ? null : t.wrongLimit);
}
