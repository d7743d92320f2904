/**
 * What the pages tell a reader to paste works as it stands, but for the address: every code block of the README, of docs/ and of
 * CONTRIBUTING.md runs here.
 *
 * Shell blocks run in a folder like a clone's, with `data/demo.json`, beside a gateway that serves it; those of a page one after
 * another. TypeScript runs in the project's own folder, or in that of a team which has installed the packed client; Python where there is
 * one (and the package that the block imports). Go is that of the example that runs. YAML must be a valid configuration, JSON must be read.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, statSync, symlinkSync } from "node:fs";
import { chmod, cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { loadConfig } from "../../src/config/config.ts";
import { vendorsSchema } from "../../src/config/schema-models.ts";
import { newId } from "../../src/runtime/ids.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { installPackedClient, type PackedClient } from "../support/clients/packed-client.ts";
import { starter } from "../support/command.ts";
import { now, startTestGateway, type TestGateway } from "../support/gateway.ts";
import { type Block, blocks, pages, root } from "../support/pages.ts";
import { openInterpreters } from "../support/pasted/interpreters.ts";
import { runsInPython } from "../support/python.ts";

const run = promisify(execFile);
const operatorKey = "operator-key-of-the-docs-test-0123456789";
const simulator = /embedded simulator/;

/** Blocks that no test can paste, by what they begin with, and what runs them. */
const notPasted: Readonly<Record<string, string>> = {
  "npm ci\nnpm run check": ".ci/run",
  "npm ci\nnpm run demo": "test/commands/demo/demo.test.ts",
  "npm ci && npm run demo": "test/commands/demo/demo.test.ts",
  "OPENAI_BASE_URL=": "test/commands/zero-configuration.test.ts",
  "export UPSTREAM_KEY=sk-your-key\nnpx model-gateway serve": "test/commands/commands.test.ts",
  "export GATEWAY_CONFIG=gateway.yaml\n": "test/commands/commands.test.ts",
  "sha256sum --check": "npm run test:install",
  "REDIS_URL=": "test/composition/shared-rates.test.ts",
  "npm ci\nnpm run build": "npm run test:image",
  "npx model-gateway demo   ": "npm run test:install",
  "docker build": "npm run test:image",
  "docker run": "npm run test:image",
  "OPENAI_API_KEY=sk-your-key docker compose": "test/deploy/compose.test.ts",
  "docker compose": "test/deploy/compose.test.ts",
  "GRAFANA_PASSWORD=": "test/deploy/compose.test.ts",
  "deploy/compose/fleet/make-secrets": "test/deploy/fleet.test.ts",
  "DATABASE_URL=": "test/storage/engines/postgres/fleet.test.ts",
  "model-gateway migrate-to": "test/storage/moving/killed.test.ts",
  "helm install": "test/deploy/helm.test.ts",
  "kubectl create": "test/deploy/kustomize.test.ts",
  "kubectl apply": "test/deploy/kustomize.test.ts",
  "sudo install": "test/deploy/systemd.test.ts",
};

/** What is checked of blocks besides that they succeed, by a text that they have. Each text must stand in some block. */
const checks: Readonly<Record<string, (output: string, pasted: Pasted) => unknown>> = {
  'curl http://127.0.0.1:8080/v1/chat/completions \\\n  -H "Authorization': (output) =>
    expect(JSON.parse(output).choices[0].message.content).toMatch(simulator),
  "/v1/embeddings -H": async (output, { folder }) => {
    expect(output).toContain("event: message_stop");
    expect(output).toContain('"object":"embedding"');
    const sound = await readFile(join(folder, "hello.mp3"));
    expect(sound.length).toBeGreaterThan(5_000);
    expect(sound.readUInt16BE() & 0xffe0).toBe(0xffe0);
  },
  "/v1/explain": (output) => {
    const explained = JSON.parse(output);
    expect(explained).toMatchObject({ operation: "messages", models: [{ model: "embedded-chat" }] });
    expect(explained).not.toHaveProperty("refusal");
  },
  'from "openai"': (output) => expect(output).toMatch(simulator),
  "from openai import": (output) => expect(output).toMatch(simulator),
  "urllib.request.Request": (output) => expect(output).toMatch(/^0\.\d+ \{'prompt_tokens': \d+/),
  'from "@anthropic-ai/sdk"': (output) => expect(output).toMatch(simulator),
  'from "@langchain/anthropic"': (output) => expect(output).toMatch(simulator),
  'from "@ai-sdk/anthropic"': (output) => expect(output).toMatch(simulator),
  "client.createChatCompletion(\n": (output) => expect(output).toMatch(simulator),
  "inference.listModels": (output) => expect(output).toMatch(/'embedded-chat'[\s\S]*embedded simulator/),
  "@model-gateway/client/usage": (output) => expect(output).toMatch(/^req_\w+ embedded-chat \d+n$/m),
  "refusal.reason === Reason.MODEL_NOT_FOUND": (output) => expect(output).toMatch(/^MODEL_NOT_FOUND model The model/),
  "idempotencyKeys: true": (output) => expect(output).toMatch(simulator),
  "model_gateway.refusal_of(error)": (output) => expect(output).toMatch(simulator),
  "buf export": async (_, { folder }) => {
    const exported = await readdir(join(folder, "protos"), { recursive: true });
    expect(exported).toEqual(
      expect.arrayContaining(["modelgateway/v1/inference.proto", "buf/validate/validate.proto"]),
    );
    expect((await readFile(join(folder, "gateway.binpb"))).length).toBeGreaterThan(100_000);
  },
  "InferenceService/StreamChatCompletion": (output) => expect(output).toContain("FINISH_REASON_STOP"),
  "create-api-token": async (output, { again, gateway }) => {
    const made = JSON.parse(output);
    expect(made).toMatchObject({ statusCode: 200, data: { name: "ci", credit_limit: "5.00" } });
    expect(made.data.secret).toMatch(/^sk-/);
    const repeated = JSON.parse(await again());
    expect(repeated.data.id).toBe(made.data.id);
    expect(repeated.data.secret).toBeUndefined();
    variables.KEY_ID = made.data.id;
    variables.OLD_SECRET = made.data.secret;
    expect(gateway.keyId).not.toBe(made.data.id);
  },
  "get-api-tokens": (output, { gateway }) => {
    const [listed = "", updated = "", rotated = "", deleted = "", csv = "", own = ""] = output.split("\n---\n");
    expect(JSON.parse(listed).data.map(({ id }: { id: string }) => id)).toContain(variables.KEY_ID);
    expect(JSON.parse(updated).data).not.toHaveProperty("credit_limit");
    expect(JSON.parse(updated).data.models).toEqual(["family:embedded"]);
    const { data } = JSON.parse(rotated);
    expect(data.secret).not.toBe(variables.OLD_SECRET);
    expect(Date.parse(data.previous_secret_expires_at)).toBe(now + 86_400_000);
    expect(JSON.parse(deleted)).toMatchObject({ statusCode: 200, data: variables.KEY_ID });
    expect(csv).toMatch(/^id,created_at,/);
    expect(JSON.parse(own).key.id).toBe(gateway.keyId);
  },
  "OperatorService/RecordEntry": async (output, { again }) => {
    // Five units more than the page has recharged, refunded and granted before, once.
    const account = { name: "acme", balance: "30000000", recharged: "20000000" };
    expect(JSON.parse(output)).toMatchObject({ account });
    expect(JSON.parse(await again())).toMatchObject({ account });
  },
  "npx model-gateway keys list": async (_, { paste }) => {
    const listed = await paste("npx model-gateway keys list --account acme");
    variables.KEY_ID = /\bkey_\w+/.exec(listed)?.[0] ?? "";
    expect(variables.KEY_ID).not.toBe("");
  },
  "npx model-gateway accounts create --name mine": (output) => expect(output).toMatch(/^acc_\w+\n\{.*embedded-chat/),
  "backup gateway-backup.db": (_, { folder }) =>
    expect(statSync(join(folder, "gateway-backup.db")).size).toBeGreaterThan(0),
  "restore gateway-backup.db": (output) => expect(output).toMatch(/^The sums hold: 1 account, 2 keys/),
  "find backups": async (_, { folder }) => expect(await readdir(join(folder, "backups"))).toHaveLength(1),
  "completion bash": async (_, { folder }) =>
    expect(await readFile(join(folder, "model-gateway.bash"), "utf8")).toContain(
      "complete -F _model_gateway model-gateway",
    ),
  "npx model-gateway recharge --account acme": (output) => expect(output).toContain("acme"),
  "npx model-gateway users invite": async (_, { gateway }) => {
    const { accounts, users } = gateway.storage;
    const account = await accounts.find("acme");
    if (!account) throw new Error("there is no account acme");
    await users.insert({
      id: newId("usr"),
      account_id: account.id,
      email: "a@example.com",
      password_hash: "",
      created_at: now,
    });
  },
  "--list-methods": (output) => {
    expect(output).toContain("modelgateway.v1.InferenceService/CreateChatCompletion");
    expect(output).toMatch(simulator);
  },
  "grep -i '^x-gateway-'": (output) => expect(output).toMatch(/^x-gateway-cost: 0\.\d+\r?$/m),
  "detail?.reason === Reason.MODEL_NOT_FOUND": (output) => expect(output).toMatch(/^there is no such model req_\w+\n$/),
  "client.createChatCompletion(request": (output) => expect(output).toMatch(/embedded simulator[\s\S]* \d+n?\n$/),
  "client.streamChatCompletion(request": (output) => expect(output).toMatch(simulator),
  "keys create --account newcomers": (output) => expect(output).toMatch(/^acc_\w+\nled_\w+\n$/),
  "127.0.0.1:9464/metrics": (output) => expect(output).toMatch(/^model_gateway_(?:rpc_)?requests_total\{/m),
  simulate_status: (output) => {
    expect(output).toContain("HTTP/1.1 429");
    expect(output).toContain('"error"');
  },
};

/** A block that has run. */
interface Pasted {
  readonly gateway: TestGateway;
  readonly folder: string;
  /** Runs the block once more. */
  again(): Promise<string>;
  /** Runs a line as it would be pasted. */
  paste(line: string): Promise<string>;
}

/** What the reader has set by now. */
const variables: Record<string, string> = {};

test("checks are of blocks that there are", () => {
  const unused = [...Object.keys(checks), ...Object.keys(notPasted)].filter(
    (text) => !blocks.some(({ code }) => code.includes(text)),
  );
  expect(unused).toEqual([]);
});

test("blocks are of languages that are known here", () => {
  const known = ["sh", "ts", "python", "go", "yaml", "json", "toml", "text"];
  expect(blocks.filter(({ language }) => !known.includes(language))).toEqual([]);
});

/** A folder in which the packed client is installed, once a block imports it. */
let packed: PackedClient | undefined;
/** A folder with the project's own packages and generated code. */
const ownFolder = mkdtempSync(join(tmpdir(), "docs-test-"));
for (const name of ["node_modules", "gen"]) symlinkSync(join(root, name), join(ownFolder, name));
const interpreters = openInterpreters();

afterAll(async () => {
  await interpreters.close();
  rmSync(ownFolder, { recursive: true });
  packed?.remove();
});

const of = (page: string, ...languages: string[]) =>
  blocks.filter((block) => block.page === page && languages.includes(block.language));
const nameOf = ({ page, line, language }: Block) => `${page}:${line}, ${language}`;
const isPasted = ({ code }: Block) => !Object.keys(notPasted).some((text) => code.startsWith(text));

describe.each(pages.filter((page) => of(page, "sh", "ts", "python").some(isPasted)))("what %s has run", (page) => {
  let gateway: TestGateway;
  let folder: string;
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    gateway = await startTestGateway({ operatorKey });
    const admin = await issueKey(gateway.storage.keys, {
      accountId: gateway.accountId,
      name: "admin",
      admin: true,
      now,
    });
    folder = await folderLikeAClone(gateway, admin.secret);
    const keys = { GATEWAY_API_KEY: gateway.apiKey, ADMIN_KEY: admin.secret, OPERATOR_KEY: operatorKey };
    const path = `${join(folder, "bin")}:${join(root, "node_modules/.bin")}:${process.env.PATH}`;
    env = { ...process.env, ...keys, PATH: path, HOST: "127.0.0.1", PORT: String(gateway.port) };
  });

  afterAll(async () => {
    await gateway.close();
    await rm(folder, { recursive: true });
  });

  const here = (code: string) =>
    code
      .replaceAll("http://127.0.0.1:8080", gateway.rootUrl)
      .replaceAll("127.0.0.1:9464", `127.0.0.1:${gateway.metricsPort}`);

  const pasteShell = async (code: string) => {
    const options = { env: { ...env, ...variables }, cwd: folder };
    return (await run("sh", ["-e", "-c", here(code)], options)).stdout;
  };

  const paste = async ({ language, code }: Block): Promise<string> => {
    if (language === "sh") return pasteShell(linesApart(code));
    if (language === "python") return interpreters.run("python", { code: here(code), env, cwd: folder });
    if (code.includes('"@model-gateway/client')) packed ??= installPackedClient();
    const cwd = (code.includes('"@model-gateway/client') ? packed?.folder : undefined) ?? ownFolder;
    return interpreters.run("ts", { code: here(code), env, cwd });
  };

  for (const block of of(page, "sh", "ts", "python").filter(isPasted)) {
    test.skipIf(block.language === "python" && !runsInPython(block.code))(nameOf(block), async () => {
      const output = await paste(block);
      if (!block.code.includes("simulate_")) expect(output).not.toMatch(/"error": ?\{/);
      const pasted = { gateway, folder, again: () => paste(block), paste: pasteShell };
      for (const [text, check] of Object.entries(checks)) if (block.code.includes(text)) await check(output, pasted);
    });
  }
});

/** Keeps the answers of a list of calls apart: each line that begins with curl is a call. */
function linesApart(code: string): string {
  return /^curl .*get-api-tokens/.test(code) ? code.trim().split("\n").join("\nprintf '\\n---\\n'\n") : code;
}

/** Has `data`, as a gateway that was started there has, and the commands that npx runs. */
async function folderLikeAClone(gateway: TestGateway, adminKey: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "docs-test-"));
  const data = gateway.database.dataDir;
  await writeFile(join(data, "demo.json"), JSON.stringify({ api_key: gateway.apiKey, admin_key: adminKey }));
  await symlink(data, join(folder, "data"));
  for (const part of ["buf.yaml", "proto", "third_party"]) {
    await cp(join(root, part), join(folder, part), { recursive: true });
  }
  await run("mkdir", [join(folder, "bin")]);
  for (const [name, code] of [
    // npx itself takes a second a line; test/commands runs it.
    ["npx", 'exec "$@"'],
    ["model-gateway", `exec ${process.execPath} ${starter} "$@"`],
  ] as const) {
    await writeFile(join(folder, "bin", name), `#!/bin/sh\n${code}\n`);
    await chmod(join(folder, "bin", name), 0o755);
  }
  return folder;
}

test("the demo's keys are read where the demo writes them", async () => {
  const lines = blocks.filter(({ code }) => code.includes("data/demo.json")).map(({ code }) => code);
  const folder = await mkdtemp(join(tmpdir(), "docs-test-"));
  await run("mkdir", [join(folder, "data")]);
  await writeFile(join(folder, "data/demo.json"), JSON.stringify({ api_key: "sk-plain", admin_key: "sk-admin" }));
  const code = `${lines.join("")}echo $GATEWAY_API_KEY $ADMIN_KEY`;
  const env = { ...process.env, PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}` };
  const { stdout } = await run("sh", ["-c", code], { env, cwd: folder });
  expect(stdout).toBe("sk-plain sk-admin\n");
  await rm(folder, { recursive: true });
});

test("Go is that of the example, which test/clients/examples.test.ts runs", async () => {
  const example = await readFile(join(root, "examples/go/main.go"), "utf8");
  const strange = blocks.filter(({ language, code }) => language === "go" && !example.includes(code));
  expect(strange).toEqual([]);
});

describe("what is only read", () => {
  // What agents, Kubernetes and Litestream read is theirs: it must be YAML.
  const isOthers = ({ page }: Block) => page === "docs/clients.md" || page === "docs/backup.md";

  test.each(blocks.filter(({ language }) => language === "json").map((block) => [nameOf(block), block] as const))(
    "%s is JSON",
    (_, { code }) => {
      expect(typeof JSON.parse(code)).toBe("object");
    },
  );

  test.each(blocks.filter(({ language }) => language === "yaml").map((block) => [nameOf(block), block] as const))(
    "%s is a valid configuration",
    async (_, block) => {
      if (isOthers(block)) return void expect(typeof parse(block.code)).toBe("object");
      if (block.code.startsWith("vendors:"))
        return void expect(() => vendorsSchema.parse(parse(block.code))).not.toThrow();
      const folder = await mkdtemp(join(tmpdir(), "docs-test-"));
      const file = join(folder, "gateway.yaml");
      await writeFile(file, block.code);
      const secrets = {
        UPSTREAM_KEY: "sk-upstream",
        OTLP_TOKEN: "token",
        REDIS_PASSWORD: "word",
        DATABASE_PASSWORD: "word",
      };
      const config = loadConfig(file, { ...secrets, OPERATOR_KEY: operatorKey });
      if (block.page !== "docs/configuration.md") expect(config.upstreams.length).toBeGreaterThan(0);
      await rm(folder, { recursive: true });
    },
  );
});

test("the errors that docs/api.md shows are those that callers get", async () => {
  const gateway = await startTestGateway({}, { admin: true });
  const message = { messages: [{ role: "user", content: "Hello!" }] };
  const asked = [
    ["/v1/chat/completions", { model: "embedded-chat", temperature: "hot", ...message }],
    ["/v1/messages", { model: "some-model", max_tokens: 100, ...message }],
    ["/api/v1/user/admin/delete-api-token", { id: "key_0" }],
  ] as const;
  const answers: unknown[] = [];
  for (const [path, request] of asked) {
    const headers = { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" };
    const answer = await fetch(`${gateway.rootUrl}${path}`, { method: "POST", headers, body: JSON.stringify(request) });
    answers.push(JSON.parse((await answer.text()).replace(/"req_\w+"/, '"req_…"')));
  }
  const shown = of("docs/api.md", "json").map(({ code }) => JSON.parse(code));
  expect(shown.slice(0, 3)).toEqual(answers);
  await gateway.close();
});
