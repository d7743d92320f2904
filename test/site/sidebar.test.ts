/** The site has every page of the project, and its links lead somewhere. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { checkLinks } from "../../site/links.ts";
import { anchorOf } from "../../site/reference/anchors.ts";
import { addressOf, sections } from "../../site/sidebar.ts";
import { withLinks } from "../../site/stage.ts";
import { pages } from "../support/pages.ts";

describe("the sidebar", () => {
  const listed = sections.flatMap((section) => section.pages.map(({ source }) => source));

  test("has every page of docs/, and those beside it", () => {
    const expected = [...pages.filter((page) => page !== "README.md"), "deploy/README.md"];
    expect(expected.filter((page) => !listed.includes(page))).toEqual([]);
  });

  test("has no page twice, and an address of its own for each", () => {
    expect(new Set(listed).size).toBe(listed.length);
    expect(new Set(listed.map(addressOf)).size).toBe(listed.length);
  });
});

test("anchors are those that forges make", () => {
  expect(["`log_level`", "What is checked, and when", "`upstreams[].queue`", "2. See which"].map(anchorOf)).toEqual([
    "log_level",
    "what-is-checked-and-when",
    "upstreamsqueue",
    "2-see-which",
  ]);
});

test("links of a page are replaced, and those that lead nowhere on the site become text", () => {
  const text = "[a](a.md#b) [code](../src/a.ts) ![p](p.png) [w](https://example.com) [h](#here)";
  const replaced = withLinks(text, (link) => (link.includes("src") ? undefined : `/${link}`));
  expect(replaced).toBe("[a](/a.md#b) code ![p](/p.png) [w](https://example.com) [h](/#here)");
});

describe("the check of links", () => {
  /** Returns the links that lead nowhere in a site of these files. */
  function deadIn(files: Readonly<Record<string, string>>): string[] {
    const folder = mkdtempSync(join(tmpdir(), "links-"));
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const dead = checkLinks(folder, "/docs/");
    rmSync(folder, { recursive: true });
    return dead;
  }

  test("passes what leads to a page, a heading, a file, another site, or the gateway's own paths", () => {
    const links = [
      "/docs/",
      "/docs/b",
      "/docs/b#here",
      "#top",
      "/docs/icon.svg",
      "https://example.com/x",
      "/openapi.json",
    ];
    const index = `<h1 id="top"></h1>${links.map((link) => `<a class="x" href="${link}">a</a>`).join("")}`;
    expect(deadIn({ "index.html": index, "b.html": '<h2 id="here">b</h2>', "icon.svg": "<svg/>" })).toEqual([]);
  });

  test("finds a page, a heading, a picture and a script that are not there", () => {
    const index =
      '<a href="/docs/c">c</a><a href="/docs/b#gone">b</a><img src="/docs/p.png"><script src="/docs/x.js"></script><a href="/elsewhere">e</a>';
    expect(deadIn({ "index.html": index, "b.html": "" })).toEqual([
      "index.html: /docs/c",
      "index.html: /docs/b#gone",
      "index.html: /docs/p.png",
      "index.html: /docs/x.js",
      "index.html: /elsewhere",
    ]);
  });
});
