/** The index of the documentation for language models has the form of llmstxt.org, and every page. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { llmsTextOf } from "../../../packaging/openapi/llms.ts";
import { addressOf, sections } from "../../../site/sidebar.ts";
import { document } from "../../support/clients/openapi.ts";
import { root } from "../../support/pages.ts";

const text = readFileSync(join(root, "gen/llms.txt"), "utf8");

test("is made of the pages as they are", () => {
  expect(`${llmsTextOf(root, document)}\n`, "`npm run generate` renews it").toBe(text);
});

test("is a title, a quotation, and lists of links below second headings", () => {
  const [title = "", quotation = "", ...rest] = text.trim().split("\n\n");
  expect([title, quotation]).toEqual([expect.stringMatching(/^# \S/), expect.stringMatching(/^> [^\n]+\.$/)]);
  const first = rest.findIndex((part) => part.startsWith("## "));
  const sections = rest.slice(first);
  const headings = sections.filter((part) => part.startsWith("#"));
  expect(headings).toEqual(["## Reference", "## Documentation", "## Optional"]);
  const links = sections.filter((part) => !part.startsWith("#")).flatMap((part) => part.split("\n"));
  expect(links.filter((line) => !/^- \[[^\]]+\]\(\/[\w./-]+\): \S.*\.$/.test(line))).toEqual([]);
  // What stands before the first section has no headings.
  expect(rest.slice(0, first).filter((part) => part.startsWith("#"))).toEqual([]);
});

test("has every page of the documentation, and no others", () => {
  const sources = sections.flatMap((section) => section.pages.map(({ source }) => source));
  const pages = sources.filter((source) => existsSync(join(root, source))).map((source) => `/docs${addressOf(source)}`);
  const reference = document.tags.map(({ name }) => `/docs/reference/${name.toLowerCase()}`);
  const linked = [...text.matchAll(/\]\((\/[^)]+)\)/g)].map(([, address]) => address);
  expect([...linked].sort()).toEqual(["/openapi.json", ...reference, ...pages].sort());
});
