/** Checks that every link of the built site leads to a file of it, and to a place that is in it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathsBelow } from "../src/package/package-files.ts";

/** Returns the links that lead nowhere, each with its page. */
export function checkLinks(built: string, base: string): string[] {
  const files = new Set(pathsBelow(built));
  const pages = [...files].filter((file) => file.endsWith(".html"));
  const texts = new Map(pages.map((page) => [page, readFileSync(join(built, page), "utf8")]));
  const anchors = new Map([...texts].map(([page, html]) => [page, anchorsIn(html)]));
  return [...texts].flatMap(([page, html]) =>
    [...new Set(linksIn(html))].filter((link) => !leads(link, page)).map((link) => `${page}: ${link}`),
  );

  function leads(link: string, page: string): boolean {
    const at = new URL(link, `http://site${base}${page}`);
    if (at.host !== "site") return true;
    if (!at.pathname.startsWith(base)) return isOfGateway(at.pathname);
    const below = decodeURIComponent(at.pathname.slice(base.length));
    const file = [below, `${below}.html`, `${below}index.html`].find((one) => files.has(one));
    if (file === undefined) return false;
    return (
      at.hash === "" || !texts.has(file) || (anchors.get(file)?.has(decodeURIComponent(at.hash.slice(1))) ?? false)
    );
  }
}

/** Reports whether a path is one that the gateway serves beside its documentation. */
function isOfGateway(path: string): boolean {
  return path === "/dashboard/" || path === "/openapi.json" || path === "/llms.txt";
}

function linksIn(html: string): string[] {
  return [...html.matchAll(/<(?:a|link|img|script)\b[^>]*?\s(?:href|src)="([^"]+)"/g)]
    .map(([, link = ""]) => link.replaceAll("&amp;", "&"))
    .filter((link) => !/^(?:data|mailto|javascript):/.test(link));
}

function anchorsIn(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = ""]) => id));
}
