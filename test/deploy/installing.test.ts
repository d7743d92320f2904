/** Pages of installing stay true to the files that they have people use: those that they name exist, and take what they give them. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import packageJson from "../../package.json" with { type: "json" };
import { blocks, root, tableWith, textOf } from "../support/pages.ts";

const page = "docs/installing.md";
const ofFleet = "docs/scaling.md";
const code = blocks.filter((block) => block.page === page || block.page === ofFleet).map((block) => block.code);
const whole = code.join("\n");

test("paths of the clone exist", () => {
  const paths = [...whole.matchAll(/(?:^|[\s=])(deploy\/[\w./-]+)/g)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(12);
  const ownSecrets = "deploy/compose/secrets/";
  expect(paths.filter((path) => !path.startsWith(ownSecrets) && !existsSync(join(root, path)))).toEqual([]);
});

test("values that are set are the chart's", () => {
  const values = parse(readFileSync(join(root, "deploy/helm/model-gateway/values.yaml"), "utf8"));
  const chart = readFileSync(join(root, "deploy/helm/model-gateway/README.md"), "utf8");
  const set = [...`${whole}\n${chart}`.matchAll(/--set ([\w.]+)=/g)].map(([, path = ""]) => path.split("."));
  expect(set.length).toBeGreaterThanOrEqual(4);
  const isThere = (path: readonly string[]) =>
    path[0] === "secrets" && path[1] === "values"
      ? "values" in values.secrets
      : path.reduce((at, key) => at?.[key], values) !== undefined;
  expect(set.filter((path) => !isThere(path))).toEqual([]);
});

test("images are of this version", () => {
  const tags = [...textOf(page).matchAll(/model-gateway:(\d+\.\d+\.\d+)/g)].map(([, version]) => version);
  expect(new Set(tags)).toEqual(new Set([packageJson.version]));
});

describe("the compose files", () => {
  const names = ["compose", "compose.configured", "compose.observed", "compose.fleet", "compose.fleet.observed"];
  const files = names.map((name) => readFileSync(join(root, `deploy/compose/${name}.yaml`), "utf8"));

  test("read the variables that the page lists, and no others", () => {
    const read = new Set(files.flatMap((text) => [...text.matchAll(/\$\{([A-Z_]+):/g)].map(([, name = ""]) => name)));
    const listed = tableWith(page, "variable", "meaning").flatMap(([names = ""]) =>
      [...names.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name),
    );
    expect([...read].sort()).toEqual(listed.sort());
  });
});
