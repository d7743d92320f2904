/** `model-gateway import`, as a person runs it. */
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Commands, root, startCommands, temporaryFolder } from "../support/command.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let commands: Commands;

beforeAll(async () => {
  folder = await temporaryFolder();
  commands = startCommands();
});

afterAll(async () => {
  await commands.close();
  await folder.remove();
});

const fixture = (name: string) => join(root, "test/fixtures/litellm", name);
const run = (...args: string[]) => commands.run(["import", ...args], {});

describe("import litellm", () => {
  test("writes the file to standard output, and what is not as it was to standard error", async () => {
    const { code, stdout, stderr } = await run("litellm", fixture("azure-regions.yaml"));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^# Made of azure-regions\.yaml by/);
    expect(stdout).toContain("\nunit: { code: USD");
    expect(stdout).not.toContain(root);
    expect(stderr).toMatch(/azure-regions\.yaml:42: left out: router_settings\.routing_strategy: /);
    expect(stderr).toContain("Wrote 3 models at 5 upstreams.\nThe gateway reads from its environment: APIM_KEY, ");
  });

  test("writes the file that --out names, and never over another", async () => {
    const out = join(folder.path, "gateway.yaml");
    const first = await run("litellm", fixture("quick-start.yaml"), "--out", out);
    expect(first).toMatchObject({ code: 0, stdout: "" });
    expect(first.stderr).toContain(`Wrote 3 models at 3 upstreams to ${out}.`);
    await writeFile(out, "mine");
    const again = await run("litellm", fixture("quick-start.yaml"), "--out", out);
    expect(again).toMatchObject({ code: 2, stdout: "" });
    expect(again.stderr).toContain("it exists already. Choose another name, or remove it");
    expect(await readFile(out, "utf8")).toBe("mine");
    const nowhere = await run("litellm", fixture("quick-start.yaml"), "--out", join(folder.path, "no/gateway.yaml"));
    expect(nowhere.code).toBe(2);
    expect(nowhere.stderr).toContain("it cannot be written (ENOENT)");
  });

  test("ends with 1 under --strict if anything is not as it was, and with 0 if nothing is", async () => {
    expect((await run("litellm", fixture("quick-start.yaml"), "--strict")).code).toBe(0);
    expect((await run("litellm", fixture("routing.yaml"))).code).toBe(0);
    const strict = await run("litellm", fixture("routing.yaml"), "--strict");
    expect(strict.code).toBe(1);
    expect(strict.stdout).toContain("models:");
  });

  test.each([
    [[], "import needs what to read: litellm"],
    [["nginx", "x"], "import needs what to read: litellm"],
    [["litellm"], "import litellm needs CONFIG"],
    [["litellm", "a", "b"], "import litellm has an argument too many"],
    [["litellm", "gone.yaml"], "gone.yaml: the file cannot be read (ENOENT). Check its path"],
    [["litellm", "x", "--wrong"], "import litellm: Unknown option '--wrong'"],
  ])("refuses %j in a line", async (args, message) => {
    const { code, stdout, stderr } = await run(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^model-gateway: [^\n]+\n$/);
    expect(stderr).toContain(message);
  });

  test("creates nothing else", async () => {
    await run("litellm", fixture("quick-start.yaml"));
    await expect(stat(join(folder.path, "data"))).rejects.toThrow("ENOENT");
  });
});
