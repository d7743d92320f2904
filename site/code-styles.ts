/**
 * Gives the colours of code as classes, and collects their rules: the content security policy refuses styles inside a page.
 * The same pair of colours has the same class on every page.
 */
import { hash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ShikiTransformer } from "shiki";

const rules = new Map<string, string>();

export const codeStyles: ShikiTransformer = {
  name: "code-styles",
  pre: (node) => restyle(node.properties),
  span: (node) => restyle(node.properties),
};

function restyle(properties: Record<string, unknown>): void {
  const { style } = properties;
  if (typeof style !== "string") return;
  delete properties.style;
  const name = `code-${hash("sha256", style, "hex").slice(0, 6)}`;
  rules.set(name, style);
  const { class: before } = properties;
  properties.class = typeof before === "string" && before !== "" ? `${before} ${name}` : name;
}

/** codeRulesPath is where the rules are in the built site. */
export const codeRulesPath = "code.css";

/** Writes the rules of all colours of a built site into it. It ends the build: each page is drawn by then. */
export function writeCodeRules(built: string): void {
  const sorted = [...rules].sort(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(join(built, codeRulesPath), sorted.map(([name, style]) => `.${name}{${style}}`).join("\n"));
}
