/** counted tells a count of things in English: `1 model`, `2 models`. `count` is formatted already. */
export function counted(count: number | string, one: string, many = `${one}s`): string {
  return `${count} ${String(count) === "1" ? one : many}`;
}
