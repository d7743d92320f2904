/** Formats durations and sizes in full, in the reader's language. */
import { useMemo } from "react";
import { useLanguage } from "../../language/language.tsx";

export interface Measures {
  /** unit formats `2.5 seconds`, `1 hour`; `name` is one of Intl's units. */
  unit(value: number, name: string): string;
  /** seconds formats `90 seconds`, `10 minutes`, `1 hour`: in the largest unit that needs at most one decimal. */
  seconds(count: number): string;
  /** bytes formats `16 MiB`, `1.5 GiB`. */
  bytes(count: bigint): string;
}

const [minute, hour] = [60, 3600];
const [mebibyte, gibibyte] = [1024 ** 2, 1024 ** 3];

export function useMeasures(): Measures {
  const { language } = useLanguage();
  return useMemo(() => {
    const decimal = new Intl.NumberFormat(language, { maximumFractionDigits: 2 });
    const long = { style: "unit", unitDisplay: "long", maximumFractionDigits: 2 } as const;
    const unit: Measures["unit"] = (value, name) =>
      new Intl.NumberFormat(language, { ...long, unit: name }).format(value);
    return {
      unit,
      seconds(count) {
        if (count >= hour && count % hour === 0) return unit(count / hour, "hour");
        return count > minute && count % minute === 0 ? unit(count / minute, "minute") : unit(count, "second");
      },
      bytes(count) {
        const number = Number(count);
        if (number >= gibibyte) return `${decimal.format(number / gibibyte)} GiB`;
        return number >= mebibyte ? `${decimal.format(number / mebibyte)} MiB` : `${decimal.format(number / 1024)} KiB`;
      },
    };
  }, [language]);
}
