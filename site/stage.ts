/**
 * Stages the pages of the site: copies them from where they are in the project into one folder, and has their links lead to what is
 * on the site. Links to files of data lead to copies; links to anything else of the project become text, because a site that is
 * served by a gateway has no such file.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { addressOf, sections } from "./sidebar.ts";

/** toAllPages is where pages of the project lead back to the list of all pages; the site has that beside every page. */
const toAllPages = /\s*All pages: \[documentation\]\([^)]*README\.md#documentation\)\./;

/** Files of these kinds are copied where a page links to them. */
const isData = /\.(?:json|ya?ml)$/;

export interface Stage {
  /** The project. */
  readonly root: string;
  /** folder is where the pages are put. */
  readonly folder: string;
  /** Pages that are made, by their paths below the folder, with their texts. */
  readonly made: ReadonlyMap<string, string>;
  /** Files of data that these pages link to, by their paths below the project. */
  readonly files: readonly string[];
}

/** Empties the folder and fills it. */
export function stage({ root, folder, made, files }: Stage): void {
  rmSync(folder, { recursive: true, force: true });
  const data = new Set(files);
  for (const source of sourcesIn(root)) {
    write(`${addressOf(source)?.slice(1)}.md`, sitePage(readFileSync(join(root, source), "utf8"), source));
  }
  for (const [path, text] of made) write(path, text);
  for (const file of data) copy(file, `public/files/${file}`);
  copy("site/public/icon.svg", "public/icon.svg");

  function sitePage(text: string, source: string): string {
    return outsideCode(text.replace(toAllPages, ""), (prose) => withLinks(prose, (link) => linkOnSite(link, source)));
  }

  function linkOnSite(link: string, source: string): string | undefined {
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? source : posix.join(posix.dirname(source), path);
    const address = addressOf(target);
    if (address !== undefined) return anchor === undefined || address === "/" ? address : `${address}#${anchor}`;
    if (/\.(?:png|svg)$/.test(target)) copy(target, `public/files/${target}`);
    else if (isData.test(target)) data.add(target);
    else return undefined;
    return `/files/${target}`;
  }

  function write(path: string, text: string): void {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }

  function copy(from: string, to: string): void {
    mkdirSync(dirname(join(folder, to)), { recursive: true });
    copyFileSync(join(root, from), join(folder, to));
  }
}

/** Returns the pages of the sidebar that there are in a project. */
export function sourcesIn(root: string): string[] {
  return sections
    .flatMap(({ pages }) => pages.map(({ source }) => source))
    .filter((one) => existsSync(join(root, one)));
}

/** Changes the text of a page, but not its blocks of code. */
function outsideCode(text: string, change: (prose: string) => string): string {
  return text
    .split(/^(```[\s\S]*?^```$)/m)
    .map((part, i) => (i % 2 === 1 ? part : change(part)))
    .join("");
}

/** Replaces the addresses of links and pictures. A link that leads nowhere on the site becomes its text. */
export function withLinks(text: string, replace: (link: string) => string | undefined): string {
  return text.replace(/\[([^[\]]*)\]\((?!\w+:)([^()\s]+)\)/g, (_, label: string, link: string) => {
    const address = replace(link);
    return address === undefined ? label : `[${label}](${address})`;
  });
}
