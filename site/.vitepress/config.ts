/** Configures how the site is built from the pages that `build.ts` stages. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitepress";
import { codeStyles, writeCodeRules } from "../code-styles.ts";
import { anchorOf } from "../reference/anchors.ts";
import { sidebarFile } from "../sidebar-links.ts";

export default defineConfig({
  title: "model-gateway",
  titleTemplate: ":title | model-gateway",
  description: "A gateway in front of generative models: OpenAI's and Anthropic's APIs and typed gRPC from one port.",
  lang: "en",
  srcDir: "pages",
  cacheDir: "../node_modules/.cache/vitepress",
  cleanUrls: true,
  // Without this, switching between light and dark writes a style into the page, which the content security policy refuses.
  appearance: { disableTransition: false },
  // The licences of what is bundled are listed in a file beside it.
  vite: { logLevel: "warn", build: { license: { fileName: "licenses.md" } } },
  head: [["meta", { name: "color-scheme", content: "light dark" }]],
  transformHead: ({ siteData }) => [["link", { rel: "icon", href: `${siteData.base}icon.svg`, type: "image/svg+xml" }]],
  markdown: {
    anchor: { slugify: anchorOf },
    toc: { slugify: anchorOf },
    theme: { light: "github-light-high-contrast", dark: "github-dark" },
    codeTransformers: [codeStyles],
    config(markdown) {
      markdown.core.ruler.push("aligned_cells", alignedCells);
      markdown.core.ruler.push("empty_heads", emptyHeads);
    },
  },
  buildEnd: ({ outDir }) => writeCodeRules(outDir),
  themeConfig: {
    logo: { src: "/icon.svg", alt: "" },
    nav: [
      { text: "Quick start", link: "/quick-start/caller" },
      { text: "API", link: "/api" },
      { text: "Reference", link: "/reference" },
      { text: "Configuration", link: "/configuration" },
    ],
    sidebar: JSON.parse(readFileSync(join(import.meta.dirname, "../pages", sidebarFile), "utf8")),
    outline: { level: [2, 3] },
    search: {
      provider: "local",
      options: {
        detailedView: true,
        miniSearch: { searchOptions: { fuzzy: 0.1, prefix: true, boost: { title: 4 } } },
        // Examples are found by the words around them: in the index they would only be long.
        _render: (text, env, markdown) => markdown.renderAsync(text.replace(/^```[\s\S]*?^```$/gm, ""), env),
      },
    },
    notFound: {
      title: "There is no such page",
      quote: "The search has every page, and the front page leads to all of them.",
      linkText: "To the front page",
      linkLabel: "To the front page",
    },
    docFooter: { prev: "Before", next: "Next" },
  },
});

interface Token {
  readonly type: string;
  readonly content: string;
  tag: string;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
  attrs: [string, string][] | null;
}

/** Replaces the styles of aligned cells by classes: the content security policy refuses styles inside a page. */
function alignedCells({ tokens }: { readonly tokens: readonly Token[] }): void {
  for (const token of tokens) {
    const side = /^text-align:\s*(\w+)$/.exec(token.attrGet("style") ?? "")?.[1];
    if (side === undefined) continue;
    token.attrs = (token.attrs ?? []).filter(([name]) => name !== "style");
    token.attrSet("class", `aligned-${side}`);
  }
}

/** Turns empty heads of columns into ordinary cells: a screen reader would announce a head without a name. */
function emptyHeads({ tokens }: { readonly tokens: readonly Token[] }): void {
  for (const [i, token] of tokens.entries()) {
    const [text, end] = [tokens[i + 1], tokens[i + 2]];
    if (token.type !== "th_open" || text?.content !== "" || end?.type !== "th_close") continue;
    token.tag = "td";
    end.tag = "td";
  }
}
