/** Parses and formats amounts of money exactly, without floating-point numbers. */

/** readAmount returns the millionths of the unit in a text such as `12.5`; undefined if it is not an amount. */
export function readAmount(text: string): bigint | undefined {
  const found = /^(\d{1,13})(?:\.(\d{1,6}))?$/.exec(text.trim());
  if (!found) return undefined;
  return BigInt(found[1] ?? "") * 1_000_000n + BigInt((found[2] ?? "").padEnd(6, "0"));
}

/** mostAmount is a thousand million units, in millionths: the most that the gateway takes as one amount. */
const mostAmount = 1_000_000_000_000_000n;

/** isAmount reports whether a text is an amount that the gateway takes, of at least so many millionths. */
export function isAmount(text: string, least: bigint): boolean {
  const amount = readAmount(text);
  return amount !== undefined && amount >= least && amount <= mostAmount;
}

/** writeAmount formats an amount for a field: `12.5`. */
export function writeAmount(millionths: bigint): string {
  const fraction = String(millionths % 1_000_000n)
    .padStart(6, "0")
    .replace(/0+$/, "");
  return `${millionths / 1_000_000n}${fraction && `.${fraction}`}`;
}
