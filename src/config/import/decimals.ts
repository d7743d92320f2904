/** Multiplies decimal numbers by their digits, never by fractions, so that prices of other gateways stay exact. */

/** places is how many decimals a price and an amount may have. */
const places = 6;

/** Decimal is a decimal as gateway.yaml has it. Its six places hold all of the number where `isExact`; else it is rounded up. */
export interface Decimal {
  readonly text: string;
  readonly isExact: boolean;
}

/** Factor is a decimal number: `digits` times ten to the power of minus `fraction`. */
interface Factor {
  readonly digits: bigint;
  readonly fraction: number;
}

/** product multiplies decimal numbers, which may have exponents: "1.5e-06" and "1e6" make "1.50". Undefined where one is no number. */
export function product(...texts: readonly string[]): Decimal | undefined {
  let [digits, fraction] = [1n, 0];
  for (const text of texts) {
    const factor = factorOf(text);
    if (!factor) return undefined;
    digits *= factor.digits;
    fraction += factor.fraction;
  }
  const shift = places - fraction;
  const scale = 10n ** BigInt(Math.abs(shift));
  const isExact = shift >= 0 || digits % scale === 0n;
  const value = shift >= 0 ? digits * scale : (digits + scale - 1n) / scale;
  const padded = String(value).padStart(places + 1, "0");
  // Two decimals stay at least, as amounts are written.
  const decimals = padded.slice(-places).replace(/0{1,4}$/, "");
  return { text: `${padded.slice(0, -places)}.${decimals}`, isExact };
}

/** factorOf reads a number as YAML 1.1 has it, which allows `_` between digits. */
function factorOf(text: string): Factor | undefined {
  const [, whole = "", decimals = "", exponent = "0"] =
    /^\+?(\d*)\.?(\d*)(?:e([+-]?\d{1,3}))?$/i.exec(text.replaceAll("_", "")) ?? [];
  if (whole + decimals === "") return undefined;
  return { digits: BigInt(whole + decimals), fraction: decimals.length - Number(exponent) };
}
