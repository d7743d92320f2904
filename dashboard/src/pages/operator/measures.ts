/** How spans of time and sizes are written in full, in the reader's language. */
import { useMemo } from "react";
import { useLanguage } from "../../language/language.tsx";

export interface Measures {
  /** `2.5 seconds`, `1 hour`; the unit is one of those that Intl knows. */
  unit(value: number, name: string): string;
  /** `90 seconds`, `10 minutes`, `1 hour`: in the largest unit that needs no more than the one. */
  seconds(count: number): string;
  /** `16 MiB`, `1.5 GiB` */
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
