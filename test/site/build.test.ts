/** The documentation as files, built to be published elsewhere than by the gateway. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkLinks } from "../../site/links.ts";
import { root } from "../support/pages.ts";

const out = join(mkdtempSync(join(tmpdir(), "site-")), "published");

beforeAll(async () => {
  await promisify(execFile)(process.execPath, [join(root, "site/build.ts"), "--base", "/", "--out", out]);
}, 180_000);
afterAll(() => rmSync(join(out, ".."), { recursive: true }));

const pages = () => readdirSync(out, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".html"));

test("is whole, and its links lead somewhere", () => {
  expect(pages().length).toBeGreaterThan(30);
  expect(checkLinks(out, "/")).toEqual([]);
});

test("asks nothing of the address at which the gateway serves it, nor of another site", () => {
  for (const page of pages()) {
    const html = readFileSync(join(out, page), "utf8");
    const asked = [...html.matchAll(/<(?:link|script|img)\b[^>]*?\s(?:href|src)="([^"]+)"/g)].map(([, url]) => url);
    expect(
      asked.filter((url) => !/^\/(?!\/|docs\/)|^data:/.test(url ?? "")),
      page,
    ).toEqual([]);
  }
});

test("has nothing that the content security policy refuses: no style in a page, no handler", () => {
  for (const page of pages()) {
    const html = readFileSync(join(out, page), "utf8");
    expect(html.match(/<style|<[^>]* style="|<[^>]* on\w+="/g), page).toBeNull();
  }
});

test("has what a page says in the page itself, for readers without JavaScript and for search engines", () => {
  const prices = readFileSync(join(out, "prices.html"), "utf8");
  expect(prices).toContain("The hold is the dearest of all that may come of it");
  expect(readFileSync(join(out, "reference/chat.html"), "utf8")).toContain("max_completion_tokens");
});

test("has the collection of requests, which the reference and the page about the API lead to", () => {
  const path = "/files/gen/collection/model-gateway.postman_collection.json";
  expect(JSON.parse(readFileSync(join(out, path), "utf8")).info.name).toBe("Model Gateway");
  for (const page of ["api.html", "reference.html"])
    expect(readFileSync(join(out, page), "utf8")).toContain(`href="${path}"`);
});

test("takes less than 9 MB", () => {
  const files = readdirSync(out, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const bytes = files
    .map((one) => readFileSync(join(one.parentPath, one.name)).length)
    .reduce((sum, one) => sum + one, 0);
  expect(bytes).toBeLessThan(9_000_000);
});

test("has an index for language models, whose links lead to its own files", () => {
  const index = readFileSync(join(out, "llms.txt"), "utf8");
  const links = [...index.matchAll(/\]\((\/[^)]+)\)/g)].map(([, link = ""]) => link);
  expect(links.length).toBeGreaterThan(30);
  const files = new Set(readdirSync(out, { recursive: true, encoding: "utf8" }).map((path) => `/${path}`));
  expect(links.filter((link) => !files.has(link) && !files.has(`${link}.html`))).toEqual([]);
});
