/** The sidebar as the theme takes it: the pages of `sidebar.ts` that there are, and the reference of the API. */
import { join } from "node:path";
import type { DefaultTheme } from "vitepress";
import { addressOf, sections } from "./sidebar.ts";
import { sourcesIn } from "./stage.ts";

export function sidebarFor(): DefaultTheme.SidebarItem[] {
  const there = new Set(sourcesIn(join(import.meta.dirname, "..")));
  return sections.map(({ title, pages, isCollapsed }) => ({
    text: title,
    collapsed: isCollapsed ?? false,
    items: pages
      .filter(({ source }) => there.has(source))
      .map((page) => ({ text: page.title, link: addressOf(page.source) as string })),
  }));
}
