/** The workflows of GitHub Actions: what their jobs may do, and that they are what actionlint takes. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import packageJson from "../../package.json" with { type: "json" };
import { root } from "../support/command.ts";
import { has, run } from "./tools.ts";

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly uses?: string;
  readonly steps?: readonly Step[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly matrix: { readonly include: readonly { readonly platform: string }[] } };
  readonly "timeout-minutes"?: number;
}

interface Workflow {
  readonly permissions: unknown;
  readonly on: Readonly<Record<string, unknown>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const folder = join(root, ".github/workflows");
const files = readdirSync(folder).sort();
const workflows = files.map((file): readonly [string, Workflow] => [
  file,
  parse(readFileSync(join(folder, file), "utf8")),
]);
const [[, ci], [, release]] = workflows as [(typeof workflows)[0], (typeof workflows)[0]];
const stepsOf = ({ jobs }: Workflow) => Object.values(jobs).flatMap(({ steps = [] }) => steps);

describe.skipIf(!has("actionlint"))("actionlint", () => {
  test("finds nothing wrong with the workflows, and does find what is", () => {
    const paths = files.map((file) => join(folder, file));
    expect(run("actionlint", ["-shellcheck=", "-pyflakes=", ...paths])).toEqual({ code: 0, stdout: "", stderr: "" });
    const bad =
      "on: push\njobs: { a: { runs-on: ubuntu-24.04, steps: [{ uses: actions/checkout@v6, with: { dept: 1 } }] } }\n";
    expect(run("actionlint", ["-"], { input: bad }).stdout).toContain('input "dept" is not defined');
  });
});

describe.each(workflows)("%s", (_, workflow) => {
  test("lets its jobs read, and each write only what it says", () => {
    expect(workflow.permissions).toEqual({ contents: "read" });
    expect(Object.keys(workflow.on)).not.toContain("pull_request_target");
    const secrets = stepsOf(workflow).filter((step) => /\bsecrets\./.test(JSON.stringify(step)));
    expect(secrets).toEqual([]);
  });

  test("leaves no credential in a work tree, and puts no stranger's words into a shell", () => {
    for (const { uses, run: shell, with: given } of stepsOf(workflow)) {
      if (uses?.startsWith("actions/checkout@")) expect(given).toMatchObject({ "persist-credentials": false });
      expect(shell ?? "").not.toMatch(/\$\{\{\s*(?:github\.(?:event|head_ref|ref_name)|inputs)/);
    }
  });

  test("takes actions of GitHub and Docker alone, each of a version", () => {
    const used = stepsOf(workflow).flatMap(({ uses }) => uses ?? []);
    expect(used.filter((one) => !/^(?:actions|docker)\/[\w-]+@v\d+$/.test(one))).toEqual([]);
  });

  test("bounds the time of every job, and names scripts that exist", () => {
    const unbounded = Object.entries(workflow.jobs).filter(([, job]) => !job.uses && !job["timeout-minutes"]);
    expect(unbounded.map(([name]) => name)).toEqual([]);
    const scripts = stepsOf(workflow).flatMap(({ run: shell = "" }) =>
      [...shell.matchAll(/npm run (\S+)/g)].map(([, name = ""]) => name),
    );
    expect(scripts.filter((name) => !(name in packageJson.scripts))).toEqual([]);
  });
});

test("a release is of the platforms that every change is tried on", () => {
  const platforms = (workflow: Workflow) => workflow.jobs.executable?.strategy?.matrix.include;
  expect(platforms(release)).toEqual(platforms(ci));
  expect(platforms(ci)?.map(({ platform }) => platform)).toEqual([
    ...["linux-x64", "linux-arm64", "darwin-arm64", "win-x64"],
  ]);
});

test("a release waits for the tests, and is published when all of it is there", () => {
  const before = (name: string): string[] => {
    const needs = [(release.jobs[name] as { needs?: string | string[] }).needs ?? []].flat();
    return [...new Set([...needs, ...needs.flatMap(before)])];
  };
  expect(before("publish").sort()).toEqual(
    Object.keys(release.jobs)
      .filter((name) => name !== "publish")
      .sort(),
  );
  for (const name of ["draft", "image", "chart", "npm"]) expect(before(name)).toContain("test");
});
