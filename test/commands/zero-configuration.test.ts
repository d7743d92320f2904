/**
 * A local server at OPENAI_BASE_URL and nothing else: its models can be called at once by the operator's own first account, and
 * models without a price cost what one key of the configuration says.
 */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { freePort } from "../../bench/free-port.ts";
import { loadConfig, type ModelConfig } from "../../src/config/config.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { openStorage } from "../../src/storage/storage.ts";
import { hear } from "../support/clients/hear.ts";
import {
  type Commands,
  type Running,
  root,
  startCommands,
  startServer,
  temporaryFolder,
  type Variables,
} from "../support/command.ts";
import { askRpc, bearer, signIn } from "../support/dashboard/session.ts";
import { eventually } from "../support/eventually.ts";
import { now, startTestGateway, type TestGateway } from "../support/gateway.ts";
import { openAccount } from "../support/payer.ts";
import { type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let local: ScriptedUpstream;
let server: Running | undefined;
let rootUrl: string;
let commands: Commands;

beforeAll(async () => {
  commands = startCommands();
  local = await startScriptedUpstream((exchange) => {
    const data = ["llama3.2:3b", "gpt-4o-mini"].map((id) => ({ id }));
    if (exchange.path.endsWith("/models")) return exchange.json(200, { object: "list", data });
    const message = { role: "assistant", content: "Hello." };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    exchange.json(200, { id: "c", object: "chat.completion", created: 1, model: "llama3.2:3b", choices, usage });
  });
});

afterAll(() => Promise.all([commands.close(), local.close()]));

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(async () => {
  await server?.stop();
  server = undefined;
  await folder.remove();
});

async function start(env: Variables = { OPENAI_BASE_URL: local.baseUrl }): Promise<void> {
  ({ server, rootUrl } = await startServer([], { DATA_DIR: folder.path, ...env }));
}

/** keyOf creates an account with a key at the command line, and returns the secret. */
async function keyOf(account: string): Promise<string> {
  const env = { DATA_DIR: folder.path };
  await commands.run(["accounts", "create", "--name", account], env);
  return (await commands.run(["keys", "create", "--account", account, "--name", "k"], env)).stdout.trim();
}

async function say(apiKey: string, model = "llama3.2:3b") {
  const answer = await fetch(`${rootUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }] }),
  });
  const { error } = (await answer.json()) as { error?: { message: string } };
  return { status: answer.status, cost: answer.headers.get("x-gateway-cost"), message: error?.message };
}

test("Groq's models are those that it lists, and what serves nothing is named at the start", async () => {
  const azure = { AZURE_OPENAI_API_KEY: "k", AZURE_OPENAI_ENDPOINT: local.baseUrl };
  await start({ GROQ_API_KEY: "k", GROQ_BASE_URL: local.baseUrl, VLLM_API_KEY: "k", ...azure });
  expect((await say(await keyOf("mine"))).status).toBe(200);
  const lines = server?.stderr.split("\n") ?? [];
  const lineOf = (message: string) => JSON.parse(lines.find((line) => line.includes(message)) ?? "null");
  expect(lineOf("keys of servers without an address")).toMatchObject({ level: 40, variables: ["VLLM_API_KEY"] });
  expect(lineOf("upstreams serve no model")).toMatchObject({ level: 40, upstreams: ["azure"] });
});

describe("with OPENAI_BASE_URL alone", () => {
  test("the first account calls the server's models for nothing; another is refused and told what to do; one line says it", async () => {
    await start();
    const [own, other] = [await keyOf("mine"), await keyOf("theirs")];
    expect(await say(own)).toMatchObject({ status: 200, cost: "0.00" });
    const refused = await say(other);
    expect(refused.status).toBe(403);
    expect(refused.message).toMatch(/no price.*unpriced_models/);
    const { stderr = "" } = (await server?.stop()) ?? {};
    const lines = stderr.split("\n").filter((line) => line.includes("without a price"));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] as string)).toMatchObject({
      level: 40,
      models: 1,
      remedy: expect.stringContaining("unpriced_models"),
    });
  });

  test("the lines of docs/getting-started.md make an account and a key, and list the server's models", async () => {
    await start();
    const page = await readFile(join(root, "docs/getting-started.md"), "utf8");
    const [lines = ""] = /npx model-gateway accounts create --name mine --grant 500\n[^`]*/.exec(page) ?? [];
    const env = {
      ...process.env,
      DATA_DIR: folder.path,
      PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}`,
    };
    const code = lines.replaceAll("http://127.0.0.1:8080", rootUrl);
    const { stdout } = await promisify(execFile)("sh", ["-c", code], { env, cwd: root });
    expect(stdout).toMatch(/^acc_\w+\n\{.*"llama3\.2:3b"/);
  });

  test("a server that is down at the start is served once it is there, without a restart; what its models cost is told then", async () => {
    const port = await freePort();
    await start({ OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` });
    const own = await keyOf("mine");
    expect((await say(own)).status).toBe(404);
    const late = await startScriptedUpstream(local.script, port);
    try {
      await eventually(async () => expect((await say(own)).status).toBe(200));
      const { stderr = "" } = (await server?.stop()) ?? {};
      const lines = stderr.split("\n").filter((line) => line.startsWith("{"));
      const warnings = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 40);
      expect(warnings).toMatchObject([
        { cause: expect.stringContaining("ECONNREFUSED"), remedy: expect.stringContaining("address") },
        { rate: "1 USD = 155.00 JPY", remedy: expect.stringContaining("catalogue_prices.dollar") },
        { models: 1, remedy: expect.stringContaining("unpriced_models") },
      ]);
    } finally {
      await late.close();
    }
  });
});

describe("whose account is the operator's own first", () => {
  /** Returns who it is after these were made in their order: an account, and for whom. */
  async function first(...made: ("command line" | "operator" | "stranger")[]) {
    const storage = await openStorage(join(folder.path, "gateway.db"));
    try {
      for (const [i, who] of made.entries()) {
        await storage.accounts.insert({ id: `acc_${i}`, name: who + i, created_at: i });
        if (who === "command line") continue;
        const user = { id: `usr_${i}`, account_id: `acc_${i}`, email: `${i}@x`, password_hash: "", created_at: i };
        await storage.users.insert({ ...user, is_operator: who === "operator" ? 1 : 0 });
      }
      return await storage.accounts.first();
    } finally {
      await storage.close();
    }
  }

  test.for([
    [[], undefined],
    [["command line", "operator"], "acc_0"],
    [["operator", "command line"], "acc_0"],
    [["stranger", "operator", "command line"], "acc_1"],
    [["stranger"], undefined],
  ] as const)("of %j it is %s", async ([made, expected]) => {
    expect(await first(...made)).toBe(expected);
  });
});

describe("`unpriced_models`", () => {
  const yaml = (line: string) => `
${line}
durability: process
upstreams: [{name: local, kind: openai, base_url: "${local.baseUrl}", discover: true}]
`;
  async function startWith(line: string): Promise<void> {
    const file = join(folder.path, "gateway.yaml");
    await writeFile(file, yaml(line));
    await start({ GATEWAY_CONFIG: file });
  }

  test("`refused` refuses the first account, too", async () => {
    await startWith("unpriced_models: refused");
    expect((await say(await keyOf("mine"))).status).toBe(403);
  });

  test("`free` lets every account call for nothing", async () => {
    await startWith("unpriced_models: free");
    const [own, other] = [await keyOf("mine"), await keyOf("theirs")];
    expect(await say(own)).toMatchObject({ status: 200, cost: "0.00" });
    expect(await say(other)).toMatchObject({ status: 200, cost: "0.00" });
  });

  test("a price is what each account pays", async () => {
    await startWith('unpriced_models: {price: {input: "100", output: "200"}}');
    const own = await keyOf("mine");
    expect((await say(own)).status).toBe(402);
    await commands.run(["grant", "--account", "mine", "--amount", "10"], { DATA_DIR: folder.path });
    expect(await say(own)).toMatchObject({ status: 200, cost: "0.002" });
  });

  test.for(["cheap", "1", "{price: {input: 1}}", "{cost: {}}"])("a start with %s names the line", async (value) => {
    const file = join(folder.path, "gateway.yaml");
    await writeFile(file, yaml(`unpriced_models: ${value}`));
    expect(() => loadConfig(file, {})).toThrow(
      /gateway\.yaml:2: unpriced_models: expected free_for_first_account, free, refused, or/,
    );
  });
});

describe("the first account's people and programs", () => {
  let gateway: TestGateway;

  beforeEach(async () => {
    const targets = [{ upstream: "embedded", model: "embedded-chat", priority: 0, weight: 1 }];
    const model: ModelConfig = { id: "unpriced", aliases: [], family: "f", kind: "chat", targets };
    const unpriced = { isFreeForFirst: true, price: undefined };
    gateway = await startTestGateway({ models: [model], unpriced }, { postpaid: false, recharge: 0, admin: true });
  });
  afterEach(() => gateway.close());

  const ask = async (apiKey: string, headers = {}) => {
    const messages = [{ role: "user", content: "Hi" }];
    const body = { model: "unpriced", max_tokens: 2, messages };
    return (await hear(gateway, { path: "/v1/chat/completions", apiKey, body, headers }).answer).status;
  };
  const callable = async (headers: Readonly<Record<string, string>>) => {
    const { json } = await askRpc(gateway, "AccountService.ListCatalog", {}, headers);
    return (json.models as JsonObject[]).find(({ id }) => id === "unpriced")?.callable === true;
  };

  test("call models without a price for nothing, by keys with a limit too, and see that they may; others see that they may not", async () => {
    const limited = await issueKey(gateway.storage.keys, {
      accountId: gateway.accountId,
      name: "l",
      admin: false,
      now,
      creditLimit: 1,
    });
    expect([await ask(gateway.apiKey), await ask(limited.secret)]).toEqual([200, 200]);
    const other = await openAccount(gateway, { admin: true });
    expect(await ask(other.apiKey)).toBe(403);
    expect([await callable(bearer(gateway.apiKey)), await callable(bearer(other.apiKey))]).toEqual([true, false]);
    const operator = await signIn(gateway, now, { operator: true });
    expect(await callable((await operator).headers)).toBe(true);
    expect(await ask("", { ...(await operator).headers, authorization: "", "x-gateway-key": gateway.keyId })).toBe(200);
  });

  test("no longer do, from the next call on, once somebody else's the account is", async () => {
    expect(await ask(gateway.apiKey)).toBe(200);
    await signIn(gateway, now);
    expect(await ask(gateway.apiKey)).toBe(403);
  });
});
