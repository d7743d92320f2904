/** Formats the vendors' prices, which are in US dollars whatever the gateway's unit is. */
import { useMemo } from "react";
import { useLanguage } from "../language/language.tsx";
import { writeAmount } from "./amount.ts";

/** useDollars returns what formats millionths of a dollar, exactly: `$0.40`. */
export function useDollars(): (millionths: bigint) => string {
  const { language } = useLanguage();
  return useMemo(() => {
    const format = new Intl.NumberFormat(language, {
      ...{ style: "currency", currency: "USD", currencyDisplay: "narrowSymbol" },
      ...{ minimumFractionDigits: 2, maximumFractionDigits: 6 },
    });
    return (millionths) => format.format(writeAmount(millionths) as Intl.StringNumericLiteral);
  }, [language]);
}
