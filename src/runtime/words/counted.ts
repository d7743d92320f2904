/** Tells counts of things in English: one of them in the singular. */

/** counted returns `1 model`, `2 models`, `1,234 models`. `count` may be a number that is written already. */
export function counted(count: number | bigint | string, one: string, many = pluralOf(one)): string {
  return `${count} ${String(count) === "1" ? one : many}`;
}

function pluralOf(one: string): string {
  return /[^aeiou]y$/.test(one) ? `${one.slice(0, -1)}ies` : `${one}s`;
}
