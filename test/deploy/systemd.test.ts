/** The unit for systemd, as systemd itself reads it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { root, temporaryFolder } from "../support/command.ts";
import { has, run } from "./tools.ts";

const path = join(root, "deploy/systemd/model-gateway.service");
const text = readFileSync(path, "utf8");
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let unit: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  unit = join(folder.path, "model-gateway.service");
  // It looks whether there is such a program, which is not installed here.
  writeFileSync(unit, text.replace("ExecStart=/usr/local/bin/model-gateway", "ExecStart=/bin/true"));
});

afterAll(() => folder.remove());

const settingOf = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(text)?.[1];

describe.skipIf(!has("systemd-analyze"))("systemd-analyze", () => {
  test("finds nothing wrong with the unit, and does find what is", () => {
    expect(run("systemd-analyze", ["verify", unit])).toEqual({ code: 0, stdout: "", stderr: "" });
    const bad = join(folder.path, "bad.service");
    writeFileSync(bad, `${readFileSync(unit, "utf8")}\n[Service]\nProtectSystem=sometimes\n`);
    expect(run("systemd-analyze", ["verify", bad]).stderr).toContain("sometimes");
  });

  test("finds it as little exposed as a service of the network can be", () => {
    // In tenths: at most 1.5 of 10.
    const { code, stdout } = run("systemd-analyze", ["security", "--offline=true", "--threshold=15", unit]);
    expect(code, stdout).toBe(0);
  });
});

describe.skipIf(!has("systemd-sysusers"))("systemd-sysusers", () => {
  test("makes the user that the unit runs as", () => {
    const { code, stdout, stderr } = run("systemd-sysusers", ["--dry-run", path.replace(".service", ".conf")]);
    expect(code).toBe(0);
    // Of a file that it cannot read, or a line that is wrong, it says so and goes on.
    expect(stdout + stderr).not.toMatch(/ignoring|conf:\d+/);
    expect(stdout + stderr).toContain(`Creating user '${settingOf("User")}'`);
  });
});

test("the unit waits longer than the gateway may take to stop", () => {
  const { drainMs } = loadConfig(undefined, {});
  expect(Number(settingOf("TimeoutStopSec")) * 1000).toBeGreaterThanOrEqual(drainMs + 10_000 + 5_000);
});

test("the unit lets the engine compile, and tries no wrong configuration again", () => {
  expect(settingOf("MemoryDenyWriteExecute")).toBe("no");
  expect(settingOf("RestartPreventExitStatus")).toBe("2");
  expect(settingOf("Environment")).toBe(`DATA_DIR=/var/lib/${settingOf("StateDirectory")}`);
});
