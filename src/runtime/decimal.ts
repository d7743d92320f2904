/**
 * Converts between decimal strings and integers in units of the last place: "1.50" is 1500000 millionths. The conversion is exact:
 * no step rounds, and none uses fractions.
 */

/** Decimal is the value of a text, or what was expected instead, as the end of a sentence that begins with "expected". */
export type Decimal = { readonly value: number } | { readonly fault: string };

const zero = 0x30;

/** parseDecimal reads `12`, `12.5` and `-12.50`: no exponent, no plus sign, no space, and at most so many places. */
export function parseDecimal(text: string, places = 6): Decimal {
  const [, sign, whole, fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole === undefined) return { fault: 'a decimal, as "12.50"' };
  if (fraction.length > places) return { fault: `a decimal with at most ${places} places` };
  // A number beyond the integers that a double holds exactly stays beyond them, however it is rounded.
  const value = Number(whole + fraction.padEnd(places, "0"));
  if (!Number.isSafeInteger(value)) {
    return { fault: `a decimal of at most ${formatDecimal(Number.MAX_SAFE_INTEGER, places)} in magnitude` };
  }
  return { value: sign && value !== 0 ? -value : value };
}

/** formatDecimal formats with at least two places and no trailing zeros after those: "10.00", "12.50", "0.000123". */
export function formatDecimal(value: number | bigint, places = 6): string {
  if (places === 6 && typeof value === "number" && value >= 0 && Number.isSafeInteger(value))
    return formatMillionths(value);
  const digits = String(value < 0 ? -value : value).padStart(places + 1, "0");
  const point = digits.length - places;
  let end = digits.length;
  while (end > point + 2 && digits.charCodeAt(end - 1) === zero) end--;
  return `${value < 0 ? "-" : ""}${digits.slice(0, point)}.${digits.slice(point, end).padEnd(2, "0")}`;
}

/** formatAmount formats millionths of a unit of money with the unit's code, as texts for people have it: "12.50 JPY". */
export function formatAmount(millionths: number | bigint, { code }: { readonly code: string }): string {
  return `${formatDecimal(millionths)} ${code}`;
}

/** Numbers below 1000 as three digits, and the same without trailing zeros: down to two digits, and down to none. */
const threeDigits = Array.from({ length: 1_000 }, (_, number) => String(number).padStart(3, "0"));
const atLeastTwo = threeDigits.map((digits) => digits.replace(/0$/, ""));
const atLeastNone = threeDigits.map((digits) => digits.replace(/0+$/, ""));

/** Formats millionths in a third of the time, for the headers of every answer. */
function formatMillionths(value: number): string {
  let units = Math.floor(value / 1_000_000);
  let rest = value - units * 1_000_000;
  // The quotient of a large number may have been rounded up.
  if (rest < 0) {
    units--;
    rest += 1_000_000;
  }
  const high = Math.floor(rest / 1_000);
  const low = rest - high * 1_000;
  return low === 0 ? `${units}.${atLeastTwo[high]}` : `${units}.${threeDigits[high]}${atLeastNone[low]}`;
}

/** decimalText returns the shortest decimal text of a finite number, without an exponent. */
export function decimalText(number: number): string {
  const [, sign, whole, fraction = "", exponent] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(number)) ?? [];
  if (whole === undefined) throw new RangeError("not a finite number");
  if (exponent === undefined) return String(number);
  // JavaScript writes an exponent only after a mantissa with one digit before the point.
  const shift = Number(exponent);
  if (shift < 0) return `${sign}0.${"0".repeat(-shift - 1)}${whole}${fraction}`;
  return `${sign}${whole}${fraction.padEnd(shift, "0")}`;
}
