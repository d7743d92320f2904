/**
 * Makes the index of the documentation for language models, in the form of llmstxt.org, of the README, the titles of the pages, and
 * the tags of the OpenAPI document, each of which has a page.
 *
 * Addresses are those under which a gateway serves its documentation.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Document } from "./openapi.ts";

/** Pages outside `docs/`, by their addresses. */
const others: Readonly<Record<string, string>> = {
  "deploy/README.md": "/docs/watching",
  "CHANGELOG.md": "/docs/changelog",
  "CONTRIBUTING.md": "/docs/contributing",
};

/** Pages that say how the gateway is built: they may be left out where room is short. */
const optional = ["architecture", "speed", "lab-log", "changelog", "contributing"];

interface Page {
  readonly title: string;
  readonly address: string;
  /** about is what it is about: the first sentence. */
  readonly about: string;
}

/** Makes the index of the pages below a project's folder, and of the reference. */
export function llmsTextOf(root: string, { tags }: Pick<Document, "tags">): string {
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  const below = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });
  const names = below.filter((path) => path.endsWith(".md")).map((path) => path.replaceAll("\\", "/").slice(0, -3));
  const pages = [
    ...names.sort().map((name) => pageOf(read(`docs/${name}.md`), `/docs/${name}`)),
    ...Object.entries(others).map(([path, address]) => pageOf(read(path), address)),
  ];
  const isOptional = ({ address }: Page) => optional.includes(address.replace("/docs/", ""));
  const { title, about, rest } = headOf(read("README.md"));
  return [
    `# ${title}`,
    `> ${about}`,
    rest,
    section("Reference", [contract, ...tags.map(referenceOf)]),
    section(
      "Documentation",
      pages.filter((page) => !isOptional(page)),
    ),
    section("Optional", pages.filter(isOptional)),
  ].join("\n\n");
}

const contract: Page = {
  title: "OpenAPI document",
  address: "/openapi.json",
  about: "Every public path with its requests, answers, errors and examples, as OpenAPI 3.1.",
};

function referenceOf({ name, description }: Document["tags"][number]): Page {
  return { title: name, address: `/docs/reference/${name.toLowerCase()}`, about: `${description}.` };
}

function section(title: string, pages: readonly Page[]): string {
  const lines = pages.map((page) => `- [${page.title}](${page.address}): ${page.about}`);
  return `## ${title}\n\n${lines.join("\n")}`;
}

function pageOf(text: string, address: string): Page {
  const { title, about } = headOf(text);
  return { title, address, about };
}

/** Reads the title of a page, its first sentence, and what follows up to the first picture or heading. */
function headOf(text: string): { readonly title: string; readonly about: string; readonly rest: string } {
  const body = text.replace(/^---\n[\s\S]*?\n---\n/, "");
  const title = /^# (?<title>.+)$/m.exec(body)?.groups?.title;
  if (title === undefined) throw new Error(`A page has no title: ${body.slice(0, 80)}`);
  const [first = "", ...paragraphs] = (body.split(/^# .+\n/m)[1] ?? "").trim().split(/\n{2,}/);
  const end = paragraphs.findIndex((paragraph) => /^(?:```|#|!)/.test(paragraph));
  return {
    title: plain(title),
    about: /^.+?[.:](?=\s|$)/.exec(plain(first))?.[0].replace(/:$/, ".") ?? plain(first),
    rest: paragraphs
      .slice(0, end === -1 ? 0 : end)
      .map(plainList)
      .join("\n\n"),
  };
}

/** A paragraph as one line, without its links and marks. */
function plain(paragraph: string): string {
  return paragraph
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[*`]/g, "")
    .replaceAll(/\s*\n\s*/g, " ")
    .trim();
}

function plainList(paragraph: string): string {
  return paragraph
    .split(/\n(?=- )/)
    .map(plain)
    .join("\n");
}
