/**
 * The pages that people read, and the code blocks in them.
 *
 *   for (const { page, line, language, code } of blocks) …
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../..");

/** Paths below the project, the README first. */
export const pages: readonly string[] = [
  ...["README.md", "CONTRIBUTING.md", "CHANGELOG.md"],
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => `docs/${name}`),
];

export function textOf(page: string): string {
  return readFileSync(join(root, page), "utf8");
}

export interface Block {
  readonly page: string;
  /** The line of its opening fence, from 1. */
  readonly line: number;
  /** language is what follows the fence; empty where nothing does. */
  readonly language: string;
  readonly code: string;
}

export const blocks: readonly Block[] = pages.flatMap((page) => blocksIn(page, textOf(page)));

/** Returns the code blocks of a page's text. A name may follow the language, as `sh [curl]`. */
export function blocksIn(page: string, text: string): Block[] {
  const found = text.matchAll(/^```(\S*)(?: \[\w+\])?\n([\s\S]*?)^```$/gm);
  return [...found].map(({ index, 1: language = "", 2: code = "" }) => ({
    ...{ page, language, code },
    line: text.slice(0, index).split("\n").length,
  }));
}

/** Returns the rows of the first table whose head has these cells, each as its cells. Throws where there is none. */
export function tableWith(page: string, ...head: readonly string[]): readonly (readonly string[])[] {
  return tablesWith(page, ...head)[0] as readonly (readonly string[])[];
}

/** Returns the rows of all tables whose head begins with these cells. Throws where there is none. */
export function tablesWith(page: string, ...head: readonly string[]): readonly (readonly (readonly string[])[])[] {
  const tables = textOf(page)
    .split(/\n{2,}|\n(?!\|)/)
    .map((part) => part.split("\n").filter((line) => line.startsWith("|")))
    .filter((lines) => lines.length > 2)
    .map((lines) =>
      lines.map((line) =>
        line
          .slice(1, line.lastIndexOf("|"))
          .split(" | ")
          .map((cell) => cell.trim()),
      ),
    )
    .filter(([first = []]) => head.every((cell, i) => first[i] === cell));
  if (tables.length === 0) throw new Error(`${page} has no table with the head ${head.join(" | ")}`);
  return tables.map((rows) => rows.slice(2));
}

/** The texts in backticks. */
export function codesIn(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}
