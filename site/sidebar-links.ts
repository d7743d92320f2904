/** The sidebar as the theme takes it: the pages of `sidebar.ts` that there are, and the reference of the API. */
import type { DefaultTheme } from "vitepress";
import type { ReferencePage } from "./reference/api/pages.ts";
import { addressOf, sections } from "./sidebar.ts";

/** sidebarFile is where `build.ts` puts the sidebar for the configuration to read. */
export const sidebarFile = "sidebar.json";

/** `sources` are the pages that there are. The reference comes after the section of callers. */
export function sidebarFor(
  sources: readonly string[],
  reference: readonly Pick<ReferencePage, "title" | "address">[],
): DefaultTheme.SidebarItem[] {
  const there = new Set(sources);
  const links = sections.map(({ title, pages, isCollapsed }) => ({
    text: title,
    collapsed: isCollapsed ?? false,
    items: pages
      .filter(({ source }) => there.has(source))
      .map((page) => ({ text: page.title, link: addressOf(page.source) as string })),
  }));
  const items = reference.map(({ title, address }) => ({ text: title, link: address }));
  return links.toSpliced(2, 0, { text: "Reference", collapsed: false, items });
}
