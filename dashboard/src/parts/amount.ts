/** Amounts of money as people type them. They are read exactly, without floating-point numbers. */

/** Returns the millionths of the unit that a text such as `12.5` says; undefined where it is no such amount. */
export function readAmount(text: string): bigint | undefined {
  const found = /^(\d{1,13})(?:\.(\d{1,6}))?$/.exec(text.trim());
  if (!found) return undefined;
  return BigInt(found[1] ?? "") * 1_000_000n + BigInt((found[2] ?? "").padEnd(6, "0"));
}

/** Returns the amount as people type it: `12.5`. */
export function writeAmount(millionths: bigint): string {
  const fraction = String(millionths % 1_000_000n)
    .padStart(6, "0")
    .replace(/0+$/, "");
  return `${millionths / 1_000_000n}${fraction && `.${fraction}`}`;
}
