/** `model-gateway import`, as a person runs it. */
import { readdirSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { hashKeySecret } from "../../src/runtime/secrets.ts";
import { chatStatus, root, startServer } from "../support/command.ts";
import { fillDisk, mayMount, mountDisk } from "../support/disk.ts";
import { shareCommands } from "../support/shared-commands.ts";

const { commands, folder } = shareCommands();

const fixture = (name: string) => join(root, "test/fixtures/litellm", name);
const run = (...args: string[]) => commands.run(["import", ...args], {});

/** What LiteLLM keeps of rates, tags and people. */
const limited = {
  ...{ rpm_limit: 7, tpm_limit: "900", max_parallel_requests: 2, user_id: "ada@example.com" },
  metadata: {
    tags: ["team-a", "team-b", "team-a"],
    model_rpm_limit: { "embedded-chat": 3, "gone-model": 5 },
    model_tpm_limit: { "embedded-chat": 50 },
  },
};

describe("import litellm-keys", () => {
  const secrets = {
    web: "sk-web-1234567890abcdef",
    batch: "sk-batch-1234567890abcd",
    gone: "sk-gone-1234567890abcde",
    limited: "sk-limited-1234567890ab",
    monthly: "sk-monthly-1234567890ab",
  };
  const listed = (name: keyof typeof secrets, more: object = {}) => ({
    token: hashKeySecret(secrets[name]),
    key_name: `sk-...${secrets[name].slice(-4)}`,
    key_alias: name,
    spend: 0,
    max_budget: null,
    models: [],
    expires: null,
    ...more,
  });
  const file = async (keys: readonly object[]) => {
    const path = join(folder.path, "keys.json");
    await writeFile(path, JSON.stringify({ keys, total_count: keys.length, total_pages: 1 }));
    return path;
  };
  const env = () => ({ DATA_DIR: join(folder.path, "keys-data") });
  const take = (path: string, ...more: string[]) =>
    commands.run(["import", "litellm-keys", path, "--account", "acme", ...more], env());

  test("takes keys over, whose callers notice nothing, and their budgets to the last digit", async () => {
    await commands.run(["accounts", "create", "--name", "acme", "--grant", "5"], env());
    const path = await file([
      listed("web", { spend: 0.123456789, max_budget: 1.5, models: ["embedded-chat", "tts-1", "gone-model"] }),
      listed("batch", { models: ["all-team-models"], budget_duration: "30d", rpm_limit: 10 }),
      listed("limited", limited),
      listed("monthly", { max_budget: 12.5, spend: 3, budget_duration: "30d" }),
      listed("gone", { expires: "2020-01-01T00:00:00Z" }),
      { key_alias: "old", spend: 1 },
    ]);
    const taken = await take(path);
    expect(taken.code, taken.stderr).toBe(0);
    expect(taken.stderr).toContain("Took over 4 of 4 keys; 0 were here already. Amounts are taken as JPY.");
    for (const said of [
      '"web": it may not use "gone-model", which is not served here',
      '"batch": the file does not tell its models. It is disabled',
      '"batch": budget_duration: its limit is what is left',
      '"monthly": its budget is by the calendar, a month, and begins anew here',
      '"limited": its rate of "gone-model" is left out',
      '"gone": it has expired',
      "a key without the hash of its secret",
    ])
      expect(taken.stderr).toContain(said);
    const { stdout } = await commands.run(["keys", "list"], env());
    expect(stdout).toMatch(/sk-…cdef +active .* 0\.00 +1\.376543 +- +embedded-chat, tts-1 +- +- +- +- +- +web\n/);
    expect(stdout).toMatch(
      /sk-…\w+ +active .* rpm=7, tpm=900, embedded-chat=3,50 +2 +- +team-a, team-b +ada@example\.com +limited\n/,
    );
    expect(stdout).toMatch(/sk-…abcd +disabled .* batch\n/);
    expect(stdout).not.toContain("gone\n");
    const { server, rootUrl } = await startServer([], env());
    try {
      expect(await chatStatus(rootUrl, secrets.web)).toBe(200);
      expect(await chatStatus(rootUrl, secrets.batch)).toBe(401);
      expect(await chatStatus(rootUrl, secrets.gone)).toBe(401);
    } finally {
      await server.stop();
    }
  });

  test("opens no key further than it was: one whose bounds the file does not tell is disabled", async () => {
    const own = { DATA_DIR: join(folder.path, "bounds-data") };
    await commands.run(["accounts", "create", "--name", "acme"], own);
    const bounds: Readonly<Record<string, object>> = {
      "budget no number": { max_budget: "ten" },
      "budget below 0": { max_budget: -1 },
      "budget elsewhere": { budget_id: "b1" },
      "budgets of models": { model_max_budget: { "embedded-chat": { max_budget: 1 } } },
      "spend no number": { max_budget: 1, spend: "a lot" },
      "spend beyond all": { max_budget: 1, spend: 1e300 },
      "spend negative": { max_budget: 1, spend: -5 },
      "expiry no time": { expires: "30d" },
      "expiry a number": { expires: 1_600_000_000 },
      "models a text": { models: "embedded-chat" },
      "models unreadable": { models: [{ name: "embedded-chat" }] },
      "models by groups": { access_group_ids: ["g1"] },
      "some routes": { allowed_routes: ["/embeddings"] },
      "reads only": { allowed_routes: ["info_routes"] },
      "odd block": { blocked: "yes please" },
      "rate of nothing": { rpm_limit: 0 },
      "rate no number": { tpm_limit: "many" },
      "no calls at a time": { max_parallel_requests: 0 },
    };
    const open: Readonly<Record<string, object>> = {
      "no bounds": { budget_id: "", model_max_budget: {}, allowed_routes: [], access_group_ids: [], blocked: false },
      "all routes": { allowed_routes: ["llm_api_routes"] },
      "budget of the table": { budget_id: "b1", litellm_budget_table: { max_budget: 2 } },
      "budget beyond all": { max_budget: 1e30 },
      "expiry of UTC": { expires: new Date(Date.now() + 60_000).toISOString().slice(0, 19) },
    };
    const keys = Object.entries({ ...bounds, ...open }).map(([alias, more]) =>
      listed("web", { token: hashKeySecret(alias), key_alias: alias, ...more }),
    );
    const path = await file([
      ...keys,
      listed("gone", { expires: new Date(Date.now() - 60_000).toISOString().slice(0, 19) }),
    ]);
    const taken = await commands.run(["import", "litellm-keys", path, "--account", "acme"], {
      ...own,
      TZ: "Asia/Tokyo",
    });
    expect(taken.code, taken.stderr).toBe(0);
    expect(taken.stderr).toContain('"gone": it has expired');
    const { stdout } = await commands.run(["keys", "list"], own);
    const lineOf = (name: string) => stdout.split("\n").find((line) => line.endsWith(`  ${name}`));
    for (const name of Object.keys(bounds)) expect(lineOf(name), name).toMatch(/ disabled /);
    for (const name of Object.keys(open)) expect(lineOf(name), name).toMatch(/ active /);
    expect(lineOf("budget of the table")).toContain(" 2.00 ");
    expect(lineOf("budget beyond all")).toContain(" 1000000000.00 ");
  });

  test("leaves those alone that are here already, and takes those of a team only", async () => {
    const own = { DATA_DIR: join(folder.path, "team-data") };
    await commands.run(["accounts", "create", "--name", "acme"], own);
    const path = await file([
      listed("web", { team_id: "t1" }),
      listed("batch", { team_id: "t2", max_budget: 1, spend: 2 }),
    ]);
    const run = (...more: string[]) =>
      commands.run(["import", "litellm-keys", path, "--account", "acme", ...more], own);
    expect((await run("--team", "t1")).stderr).toContain("Took over 1 of 1 key; 0 were here already.");
    const all = await run("--strict");
    expect(all.stderr).toContain("Took over 1 of 2 keys; 1 was here already.");
    expect(all.stderr).toContain('"batch": its budget is spent. It is disabled');
    expect(all.code).toBe(1);
    expect((await commands.run(["reconcile"], own)).code).toBe(0);
  });

  test.each([
    [["x.json"], "--account is needed"],
    [["x.json", "--account", "acme"], "x.json: the file cannot be read (ENOENT)"],
    [[], "import litellm-keys needs FILE"],
  ])("refuses %j in a line", async (args, message) => {
    const { code, stderr } = await commands.run(["import", "litellm-keys", ...args], env());
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

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

  test.skipIf(!mayMount())(
    "leaves no part of a file where the disk is full, and writes it once there is room",
    async () => {
      const disk = join(folder.path, "disk");
      const unmount = mountDisk(disk, "64k");
      try {
        const makeRoom = fillDisk(disk);
        const write = () => run("litellm", fixture("quick-start.yaml"), "--out", join(disk, "gateway.yaml"));
        expect(await write()).toMatchObject({ code: 2, stderr: expect.stringContaining("(ENOSPC)") });
        expect(readdirSync(disk)).toEqual(["fill"]);
        makeRoom();
        expect((await write()).code).toBe(0);
        expect(readdirSync(disk)).toEqual(["gateway.yaml"]);
      } finally {
        unmount();
      }
    },
  );

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
    [[], "import needs one of: litellm, litellm-keys, new-api"],
    [["nginx", "x"], "import needs one of: litellm, litellm-keys, new-api"],
    [["litellm"], "import litellm needs CONFIG"],
    [["litellm", "a", "b"], "import litellm has an argument too many"],
    [
      ["litellm", "gone.yaml"],
      "gone.yaml: the file cannot be read (ENOENT): there is no such file or folder. Correct the path",
    ],
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
