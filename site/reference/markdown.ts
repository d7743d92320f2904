/** Parts of pages that several references have. */

/** Returns a table in Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows];
  return lines
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replace(/\s*\n\s*/g, " ")).join(" | ")} |`)
    .join("\n");
}

/** Returns the bounds of a number in words, which follow its type; empty where there are none. `written` writes one. */
export function boundsText(
  least: number | undefined,
  most: number | undefined,
  written: (bound: number) => string = String,
): string {
  if (least !== undefined && most !== undefined) return `, ${written(least)} to ${written(most)}`;
  if (least !== undefined) return `, at least ${written(least)}`;
  return most === undefined ? "" : `, at most ${written(most)}`;
}
