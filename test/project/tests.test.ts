/** The tests are laid out as the source is, in folders of which each can be seen at a glance. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, matchesGlob } from "node:path";
import { expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { firstComment } from "../../tools/program-help.ts";
import { root } from "../support/command.ts";
import { browser, processes, project } from "../support/run/projects.ts";

const files = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
  .filter((path) => /\.m?ts$/.test(path))
  .sort();

/**
 * What has no folder in src: the life of a call, callers by their own SDKs, the pages, the project itself, what it is deployed
 * with, and what both engines of HTTP/1.1 are asked.
 */
const ofTheWhole: ReadonlySet<string> = new Set([
  "story",
  "clients",
  "dashboard",
  "dashboard/operator",
  "project",
  "deploy",
  "packaging",
  "packaging/openapi",
  "site",
  "fuzz",
  "http1/conformance",
  "fleet/verify",
]);

test("a folder holds at most 20 files", () => {
  const counts = Map.groupBy(files, dirname);
  expect([...counts].filter(([, inside]) => inside.length > 20).map(([folder]) => folder)).toEqual([]);
});

test("a test of a part stands where the part stands in src", () => {
  const folders = new Set(files.filter((path) => path.endsWith(".test.ts")).map(dirname));
  const strange = [...folders].filter((folder) => !ofTheWhole.has(folder) && !existsSync(join(root, "src", folder)));
  expect(strange).toEqual([]);
});

test("the story is told in numbered files, from 01 on without a gap", () => {
  const numbers = files.flatMap((path) => /^story\/(\d\d)\.[a-z-]+\.test\.ts$/.exec(path)?.[1] ?? []);
  expect(numbers).toEqual(numbers.map((_, i) => String(i + 1).padStart(2, "0")));
  expect(numbers.length).toBe(files.filter((path) => path.startsWith("story/")).length);
});

test("what drives Chromium is a part of `npm run test:browser`, and each path that names a part has tests", () => {
  const tests = files.filter((path) => path.endsWith(".test.ts")).map((path) => `test/${path}`);
  const driving = tests.filter((path) =>
    /"[./]*\/support\/dashboard\/browser.ts"/.test(readFileSync(join(root, path), "utf8")),
  );
  expect(driving.length).toBeGreaterThan(10);
  expect(driving.filter((path) => !browser.some((pattern) => matchesGlob(path, pattern)))).toEqual([]);
  const empty = [...browser, ...project, ...processes].filter(
    (pattern) => !tests.some((path) => matchesGlob(path, pattern)),
  );
  expect(empty).toEqual([]);
});

test("`npm run test:all` runs what the others run together", () => {
  const { scripts } = packageJson;
  const commands = [scripts.test, scripts["test:browser"], scripts["test:project"], scripts["test:processes"]];
  const parts = commands.flatMap((script) => [...script.matchAll(/--project (\S+)/g)]);
  expect(scripts["test:all"]).toBe("TEST_ALL=1 vitest run");
  expect(parts.map(([, name]) => name).sort()).toEqual(["alone", "browser", "gateway", "processes", "project"]);
});

test("each program that measures, tries or attacks says how it is used, and does nothing else then", () => {
  const programs = Object.values(packageJson.scripts).flatMap(
    (script) => /\bnode ((?:bench|test)\/\S+\.ts)$/.exec(script)?.[1] ?? [],
  );
  expect(programs.length).toBeGreaterThan(12);
  const silent = programs.filter((path) => {
    const source = readFileSync(join(root, path), "utf8");
    return (
      !source.includes("\nhelpFirst(import.meta.filename);\n") && !/values\.help\b|includes\("--help"\)/.test(source)
    );
  });
  expect(silent).toEqual([]);
  expect(firstComment("/**\n * `npm run fuzz`: plays.\n *\n *   --seed n   of the first\n */\nimport")).toBe(
    "`npm run fuzz`: plays.\n\n  --seed n   of the first",
  );
});

test("what is waited for is bounded by what hangs: a machine that stands still for some seconds breaks no test", () => {
  const leastMs = 20_000;
  // Its own default is a second.
  const hasty = /\bvi\.wait(?:For|Until)\(/;
  const polled = /\bpoll\([^;]*?\{ timeout: ([\d_]+)/g;
  const awaited = /\beventually\((?:async )?\(\) => (?:(?!\beventually\()[^;{}])*, ([\d_]+)\);/g;
  const short = files.filter((path) => {
    const source = readFileSync(join(root, "test", path), "utf8");
    const bounds = [...source.matchAll(polled), ...source.matchAll(awaited)].map(([, ms = ""]) =>
      Number(ms.replaceAll("_", "")),
    );
    return (path.endsWith(".test.ts") && hasty.test(source)) || bounds.some((ms) => ms < leastMs);
  });
  expect(short.filter((path) => path !== "project/tests.test.ts")).toEqual([]);
});
