/** Programs of package.json that say how they are used: by the comment that their file begins with. */
import { readFileSync } from "node:fs";

/** helpFirst prints a program's first comment and ends it, where `--help` or `-h` asks for that. `file` is the program's. */
export function helpFirst(file: string): void {
  const asked = process.argv.slice(2);
  if (!asked.includes("--help") && !asked.includes("-h")) return;
  console.log(firstComment(readFileSync(file, "utf8")));
  process.exit(0);
}

/** firstComment returns the text of the comment that a source begins with. */
export function firstComment(source: string): string {
  const [, comment = ""] = /^\/\*\*(.*?)\*\//s.exec(source) ?? [];
  return comment.replaceAll(/^ \* ?/gm, "").trim();
}
