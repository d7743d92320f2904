/** Spans of time in words, in the reader's language. */

/** durationOf returns `950 ms`, `1.2 sec`, `3 min 5 sec`. The rounded value decides on the units: no minute has 60 seconds. */
export function durationOf(ms: number, language: string): string {
  const unit = (value: number, name: string, digits = 0) =>
    new Intl.NumberFormat(language, {
      style: "unit",
      unit: name,
      unitDisplay: "short",
      maximumFractionDigits: digits,
    }).format(value);
  if (Math.round(ms) < 1000) return unit(ms, "millisecond");
  if (Math.round(ms / 100) < 600) return unit(ms / 1000, "second", 1);
  const seconds = Math.round(ms / 1000);
  return `${unit(Math.floor(seconds / 60), "minute")} ${unit(seconds % 60, "second")}`;
}

const steps = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** relativeTo returns `3 minutes ago`, `1 day ago`. It does not say "yesterday", which 40 hours ago need not have been. */
export function relativeTo(now: number, at: number, language: string): string {
  const ms = at - now;
  const format = new Intl.RelativeTimeFormat(language);
  for (const [unit, length] of steps) {
    if (Math.abs(ms) >= length) return format.format(Math.trunc(ms / length), unit);
  }
  return new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(Math.trunc(ms / 1000), "second");
}
