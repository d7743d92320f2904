/**
 * The stored configuration by the command line: from a file into the database and back, with what differs; mistakes by their lines; a
 * gateway that serves takes it up; models and prices from lists that others keep.
 */
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { chatStatus, startServer } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startScriptedUpstream } from "../support/scripted-upstream.ts";
import { shareCommands } from "../support/shared-commands.ts";
import { answerAsOpenAi } from "../support/vendors.ts";

const { commands, folder } = shareCommands();
const secret = "sk-canary-7d31-never-shown";

function workplace(name: string) {
  const env = { DATA_DIR: join(folder.path, name), KEY_OF_TEST: secret };
  const path = (file: string) => join(folder.path, `${name}-${file}`);
  return {
    env,
    path,
    run: (...args: string[]) => commands.run(args, env),
    async file(file: string, text: string) {
      await writeFile(path(file), text);
      return path(file);
    },
  };
}

const upstreams = `upstreams:
  - name: openai
    kind: openai
    base_url: https://api.openai.com/v1
    api_key: \${KEY_OF_TEST}
`;

describe("config test-upstream", () => {
  test("prints what came of each step, by the credentials of the file and of what is stored", async () => {
    const at = workplace("tested");
    const seen: string[] = [];
    const upstream = await startScriptedUpstream((exchange) => {
      seen.push(String(exchange.headers.authorization));
      if (exchange.path.endsWith("/models")) exchange.json(200, { data: [{ id: "m" }] });
      else answerAsOpenAi(exchange);
    });
    const entry = (name: string) =>
      `upstreams: [{ name: ${name}, kind: openai, base_url: "${upstream.baseUrl}", api_key: "\${KEY_OF_TEST}" }]\n`;
    await at.run("config", "apply", await at.file("a.yaml", entry("stored")));
    const own = ["--config", await at.file("gateway.yaml", entry("written"))];
    for (const name of ["stored", "written"]) {
      const { code, stdout } = await at.run("config", "test-upstream", name, ...own);
      expect(code, stdout).toBe(0);
      expect(stdout).toMatch(/^list models +ok +\d+ ms +It lists 1 model\.$/m);
      expect(stdout).toMatch(/^call a model +ok +\d+ ms +m answered\. \d+ tokens in, \d+ out\.$/m);
    }
    expect(new Set(seen)).toEqual(new Set([`Bearer ${secret}`]));
    seen.length = 0;
    const listed = await at.run("config", "test-upstream", "stored", "--list-only", ...own);
    expect([listed.code, seen.length, listed.stdout.includes("call")]).toEqual([0, 1, false]);
    const unset = await commands.run(["config", "test-upstream", "written", ...own], { DATA_DIR: at.env.DATA_DIR });
    expect(unset.stderr).toContain("the environment variable KEY_OF_TEST is not set");
    // What is secret of the gateway's own, and not of an upstream, need not be set.
    const serving = `operator_key: "\${OPERATOR_KEY_OF_TEST}"\ntelemetry: { endpoint: "http://127.0.0.1:4318", headers: { a: "\${HEADER_OF_TEST}" } }\n`;
    const whole = ["--config", await at.file("whole.yaml", serving + entry("written"))];
    const tested = await at.run("config", "test-upstream", "written", "--list-only", ...whole);
    expect([tested.code, tested.stderr]).toEqual([0, ""]);
    await upstream.close();
    const failed = await at.run("config", "test-upstream", "stored", ...own);
    expect(failed.code).toBe(1);
    expect(failed.stdout).toMatch(/^list models +failed .* nothing listens at 127\.0\.0\.1:\d+/m);
    expect(failed.stdout).toMatch(/^call a model +skipped +No model was called: the step before failed\.$/m);
    const unknown = await at.run("config", "test-upstream", "far");
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("far") as string]);
    expect(failed.stdout + listed.stdout).not.toContain(secret);
  });
});

describe("config", () => {
  test("goes from a file into the database and back, its secrets as masks", async () => {
    const at = workplace("round");
    const file = await at.file("a.yaml", `${upstreams}retries: { attempts: 2 }\n`);
    const dry = await at.run("config", "apply", file, "--dry-run");
    expect(dry.stdout).toBe(
      '+ upstreams[openai]: {"name":"openai","kind":"openai","base_url":"https://api.openai.com/v1","api_key":"…hown"}\n' +
        "~ retries.attempts: 3 → 2\n",
    );
    expect(dry.stderr).toContain("Nothing was stored: --dry-run.");
    expect((await at.run("config", "versions")).stderr).toContain("Nothing is stored yet");
    const applied = await at.run("config", "apply", file, "--note", "the first");
    expect([applied.code, applied.stdout]).toEqual([0, dry.stdout]);
    expect((await at.run("config", "versions")).stdout).toMatch(
      /^VERSION.*\n1 .*command line +upstreams\[openai\], retries +the first\n$/,
    );
    const exported = await at.run("config", "export");
    expect(exported.stdout).toContain("api_key: …hown");
    const again = await at.run(
      "config",
      "apply",
      await at.file("b.yaml", exported.stdout.replace("attempts: 2", "attempts: 4")),
    );
    expect(again.stdout).toBe("~ retries.attempts: 2 → 4\n");
    expect((await at.run("config", "compare", "1", "2")).stdout).toBe("~ retries.attempts: 2 → 4\n");
    expect((await at.run("config", "rollback", "1")).stderr).toContain("Stored as version 3.");
    const all = [dry, applied, exported, again].map(({ stdout, stderr }) => stdout + stderr).join("");
    expect(all).not.toContain(secret);
  });

  test("is written whole into a new file for its owner alone, which the audit log tells", async () => {
    const at = workplace("whole");
    await at.run("config", "apply", await at.file("a.yaml", upstreams));
    expect((await at.run("config", "export", "--with-secrets")).stderr).toContain("--with-secrets needs --file");
    const target = at.path("secret.yaml");
    expect((await at.run("config", "export", "--with-secrets", "--file", target)).code).toBe(0);
    expect((await stat(target)).mode & 0o777).toBe(0o600);
    expect(await readFile(target, "utf8")).toContain(`api_key: ${secret}`);
    expect((await at.run("config", "export", "--file", target)).stderr).toContain("exists already");
  });

  test("that is wrong is refused with each line, and nothing is stored", async () => {
    const at = workplace("wrong");
    const text = `port: 1\n${upstreams}`;
    expect((await at.run("config", "apply", await at.file("a.yaml", text))).stderr).toMatch(
      /a\.yaml:1: port: is bound to the process/,
    );
    const wrong = `${upstreams.replace("kind: openai", "kind: opnai")}tiers:\n  - { name: Free, recharge: "1", requests_per_minute: 0 }\n`;
    const { code, stderr } = await at.run("config", "apply", await at.file("b.yaml", wrong));
    expect(code).toBe(2);
    expect(stderr.match(/b\.yaml:\d+: [\w.[\]]+/g)).toEqual([
      expect.stringMatching(/b\.yaml:3: upstreams\[openai\]\.kind$/),
      expect.stringMatching(/b\.yaml:7: tiers\[0\]\.requests_per_minute$/),
      expect.stringMatching(/b\.yaml:7: tiers\[0\]\.recharge$/),
    ]);
    expect((await at.run("config", "versions")).stderr).toContain("Nothing is stored yet");
    for (const args of [["compare", "x"], ["rollback", "9"], ["export", "9"], ["bake"], []]) {
      expect((await at.run("config", ...args)).code, args.join(" ")).toBe(2);
    }
  });

  test("that was exported before others changed it is refused with what it would undo, unless that is asked for", async () => {
    const at = workplace("outdated");
    const tiers = (rate: number) => `tiers:\n  - { name: Free, recharge: "0", requests_per_minute: ${rate} }\n`;
    await at.run("config", "apply", await at.file("first.yaml", tiers(60)));
    const exported = (await at.run("config", "export")).stdout;
    await at.run("config", "apply", await at.file("others.yaml", tiers(90)));
    const edited = await at.file("edited.yaml", exported.replace("Free", "None"));
    for (const dry of [[], ["--dry-run"]]) {
      const refused = await at.run("config", "apply", edited, ...dry);
      expect([refused.code, refused.stdout.trim()]).toEqual([1, "~ tiers[0].requests_per_minute: 60 → 90"]);
      expect(refused.stderr).toContain("exported from version 1, and version 2 is stored");
    }
    // What the file has too is not undone.
    const agreed = await at.file("agreed.yaml", exported.replace("60", "90").replace("Free", "None"));
    expect((await at.run("config", "apply", agreed)).code).toBe(0);
    expect((await at.run("config", "apply", edited, "--overwrite")).stderr).toContain("Stored as version 4.");
    // Others have added the whole of what the file has otherwise in a part.
    await at.run("config", "apply", await at.file("added.yaml", tiers(60) + upstreams));
    const added = await at.run(
      "config",
      "apply",
      await at.file("own.yaml", exported + upstreams.replace("/v1", "/v2")),
    );
    expect([added.code, added.stdout]).toEqual([1, expect.stringMatching(/^\+ upstreams\[openai\]: .*\n$/)]);
  });

  test("leaves to the file what the file has, and says so", async () => {
    const at = workplace("both");
    const own = await at.file("gateway.yaml", upstreams);
    const { stderr } = await at.run(
      "config",
      "apply",
      await at.file("a.yaml", `${upstreams}cache: { max_bytes: 1024 }\n`),
      "--config",
      own,
    );
    expect(stderr).toContain(`Served as ${own} has them, and not as they are stored: upstreams[openai].`);
  });

  test("that another key sealed is told in one line, with what to do", async () => {
    const at = workplace("sealed");
    await at.run("config", "apply", await at.file("a.yaml", upstreams));
    const env = { ...at.env, GATEWAY_CONFIG_KEY: "ab".repeat(32) };
    const { code, stderr } = await commands.run(["config", "export"], env);
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^model-gateway: version 1 of the configuration: upstreams\[openai\]\.api_key was sealed by the key [0-9a-f]{8}, which is not here\. Set GATEWAY_CONFIG_KEY/,
    );
    const file = await readFile(join(at.env.DATA_DIR, "configuration.key"), "utf8");
    const both = { ...at.env, GATEWAY_CONFIG_KEY: `${"ab".repeat(32)},${file}` };
    expect((await commands.run(["config", "export"], both)).stdout).toContain("…hown");
  });
});

test("what is stored is what other commands go by", async () => {
  const at = workplace("others");
  const model =
    "models: [{ id: stored-chat, family: stored, kind: chat, targets: [{ upstream: openai, model: m }] }]\n";
  const tiers = 'tiers: [{ name: Only, recharge: "0", requests_per_minute: 5 }]\n';
  const root = 'public_urls: { root: "https://gateway.example" }\n';
  await at.run("accounts", "create", "--name", "acme");
  const create = () => at.run("keys", "create", "--account", "acme", "--name", "k", "--model", "stored-chat");
  expect((await create()).stderr).toContain("there is no model `stored-chat` here");
  await at.run("config", "apply", await at.file("a.yaml", upstreams + model + tiers + root));
  expect((await create()).code).toBe(0);
  expect((await at.run("accounts", "list")).stdout).toContain("Only");
  expect((await at.run("users", "invite")).stdout).toContain("https://gateway.example/dashboard/");
});

test("a gateway that serves takes up what is stored, and its upstream is called", async () => {
  const at = workplace("serving");
  const upstream = await startScriptedUpstream((exchange) => {
    const choices = [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hello" } }];
    exchange.json(200, { object: "chat.completion", choices, usage: { prompt_tokens: 1, completion_tokens: 1 } });
  });
  await at.run("accounts", "create", "--name", "acme", "--grant", "5");
  const { stdout } = await at.run("keys", "create", "--account", "acme", "--name", "k");
  const apiKey = stdout.trim().split("\n").at(-1) as string;
  const { server, rootUrl } = await startServer([], at.env);
  try {
    expect(await chatStatus(rootUrl, apiKey, "stored-chat")).toBe(404);
    const text = `upstreams: [{ name: far, kind: openai, base_url: "${upstream.baseUrl}", api_key: "${secret}" }]
models: [{ id: stored-chat, family: f, kind: chat, price: { input: "1", output: "1" }, targets: [{ upstream: far, model: m }] }]\n`;
    expect((await at.run("config", "apply", await at.file("a.yaml", text))).code).toBe(0);
    await eventually(async () => expect(await chatStatus(rootUrl, apiKey, "stored-chat")).toBe(200));
    expect(upstream.received.at(-1)?.headers.authorization).toBe(`Bearer ${secret}`);
    await at.run("config", "rollback", "0");
    await eventually(async () => expect(await chatStatus(rootUrl, apiKey, "stored-chat")).toBe(404));
  } finally {
    await server.stop();
    await upstream.close();
  }
});

describe("models sync", () => {
  const list = {
    sample_spec: { litellm_provider: "one of these", mode: "chat" },
    "gpt-4.1": { litellm_provider: "openai", mode: "chat", input_cost_per_token: 3e-6, output_cost_per_token: 8e-6 },
    "gpt-9": {
      litellm_provider: "openai",
      mode: "chat",
      input_cost_per_token: 1.25e-6,
      output_cost_per_token: 1e-5,
      max_input_tokens: 400_000,
    },
    "gpt-9-2026-11-01": {
      litellm_provider: "openai",
      mode: "chat",
      input_cost_per_token: 1e-6,
      output_cost_per_token: 1e-5,
    },
    "claude-9": {
      litellm_provider: "anthropic",
      mode: "chat",
      input_cost_per_token: 1e-6,
      output_cost_per_token: 1e-5,
    },
  };

  test("shows what differs for vendors in use, and stores it only where it is asked to", async () => {
    const at = workplace("sync");
    await at.run("config", "apply", await at.file("a.yaml", upstreams));
    const source = await at.file("prices.json", JSON.stringify(list));
    const shown = '~ models[gpt-4.1].price.input: "2.00" → "3.00"\n+ models[gpt-9]: ';
    const looked = await at.run("models", "sync", source);
    expect(looked.stdout).toContain(shown);
    expect(looked.stdout).not.toMatch(/claude-9|2026-11-01/);
    expect(looked.stderr).toContain("Nothing was stored: --apply stores what differs.");
    expect((await at.run("models", "sync", source, "--apply")).stderr).toContain("Stored as version 2.");
    expect((await at.run("models", "sync", source, "--apply")).stderr).toContain("Nothing differs.");
    // Other columns of the catalogue's price stay: the list has no cost for them.
    expect((await at.run("config", "export")).stdout).toContain('web_search: "0.01"');
  });

  test("reads a catalogue from an address, and no address that others may change on the way", async () => {
    const at = workplace("address");
    await at.run("config", "apply", await at.file("a.yaml", upstreams));
    const text =
      'models: [{ id: gpt-10, family: gpt, kind: chat, vendor: openai, price: { input: "1", output: "2" } }]';
    const server = await startScriptedUpstream((exchange) => {
      exchange.head(200);
      exchange.end(text);
    });
    const address = `${server.baseUrl}/models.yaml`;
    const { stdout, stderr } = await at.run("models", "sync", `${address}?token=${secret}`, "--apply");
    expect(stdout).toMatch(/^\+ models\[gpt-10\]: /);
    await server.close();
    const versions = await at.run("config", "versions");
    expect(versions.stdout).toContain(`models sync ${address}`);
    expect(stderr + versions.stdout).not.toContain(secret);
    expect((await at.run("models", "sync", "http://example.com/models.yaml")).stderr).toContain(
      "expected a file, or an https address",
    );
    expect((await at.run("models", "sync", await at.file("b.yaml", "models: [{ id: x }]"))).stderr).toMatch(
      /b\.yaml:1: models\[0\]/,
    );
    expect((await at.run("models", "sync", at.path("none"))).stderr).toContain("cannot be read (ENOENT)");
  });
});
