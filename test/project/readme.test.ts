/**
 * What the README tells a reader to paste works as it stands, but for the address.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../../src/runtime/ids.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { now, startTestGateway, type TestGateway } from "../support/gateway.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const readme = readFileSync(join(root, "README.md"), "utf8");

/** Returns the one fenced block of this language that holds the text. */
function snippet(language: string, text: string): string {
  const blocks = [...readme.matchAll(/```(\w+)\n([\s\S]*?)```/g)].filter(
    ([, tag, code]) => tag === language && code?.includes(text),
  );
  const [block, ...others] = blocks;
  if (!block?.[2] || others.length > 0) throw new Error(`${blocks.length} blocks hold ${text}`);
  return block[2].replaceAll("http://127.0.0.1:8080", gateway.rootUrl);
}

let gateway: TestGateway;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  const operatorKey = "operator-key-of-the-readme-test-0123456789";
  gateway = await startTestGateway({ operatorKey });
  const { storage, accountId } = gateway;
  const admin = issueKey(storage.keys, { accountId, name: "admin", admin: true, now });
  storage.accounts.insert({ id: newId("acc"), name: "acme", created_at: now, postpaid: 0 });
  const keys = { GATEWAY_API_KEY: gateway.apiKey, ADMIN_KEY: admin.secret, OPERATOR_KEY: operatorKey };
  env = { ...process.env, ...keys, PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}` };
});

afterAll(() => gateway.close());

const simulator = /embedded simulator/;

test("the curl line answers", async () => {
  const answer = await runShell(snippet("sh", "curl http://127.0.0.1:8080/v1/chat/completions"));
  expect(JSON.parse(answer).choices[0].message.content).toMatch(simulator);
});

test("the curl lines of other endpoints stream, embed and speak", async () => {
  const folder = await mkdtemp(join(tmpdir(), "readme-test-"));
  const answers = await runShell(snippet("sh", "/v1/embeddings"), {}, folder);
  expect(answers).toContain("event: message_stop");
  expect(answers).toContain('"object":"embedding"');
  const sound = await readFile(join(folder, "hello.mp3"));
  expect(sound.length).toBeGreaterThan(5_000);
  expect(sound.readUInt16BE() & 0xffe0).toBe(0xffe0);
  await rm(folder, { recursive: true });
});

test("the line that asks beforehand explains", async () => {
  const told = JSON.parse(await runShell(snippet("sh", "/v1/explain")));
  expect(told).toMatchObject({ operation: "messages", models: [{ model: "embedded-chat" }] });
  expect(told).not.toHaveProperty("refusal");
});

test("the openai snippet streams an answer", async () => {
  expect(await runTypeScript(snippet("ts", 'from "openai"'))).toMatch(simulator);
});

for (const name of ["@anthropic-ai/sdk", "@langchain/anthropic", "@ai-sdk/anthropic"]) {
  test(`the ${name} snippet answers`, async () => {
    expect(await runTypeScript(snippet("ts", `from "${name}"`))).toMatch(simulator);
  });
}

test("the gRPC snippet answers", async () => {
  expect(await runTypeScript(snippet("ts", "createGrpcTransport"))).toMatch(simulator);
});

test("the buf curl line streams by reflection", async () => {
  expect(await runShell(snippet("sh", "InferenceService"))).toContain("FINISH_REASON_STOP");
});

test("the demo's keys are read where the demo writes them", async () => {
  const folder = await mkdtemp(join(tmpdir(), "readme-test-"));
  await mkdir(join(folder, "data"));
  await writeFile(join(folder, "data/demo.json"), JSON.stringify({ api_key: "sk-plain", admin_key: "sk-admin" }));
  const lines = `${snippet("sh", "export GATEWAY_API_KEY=$(node")}${snippet("sh", "export ADMIN_KEY=")}`;
  expect(await runShell(`${lines}echo $GATEWAY_API_KEY $ADMIN_KEY`, {}, folder)).toBe("sk-plain sk-admin\n");
  await rm(folder, { recursive: true });
});

test("the lines for administrators make a key, change it and delete it, and tell of calls", async () => {
  const create = snippet("sh", "create-api-token");
  const made = JSON.parse(await runShell(create));
  expect(made).toMatchObject({ statusCode: 200, data: { name: "ci", credit_limit: "5.00" } });
  expect(made.data.secret).toMatch(/^sk-/);
  const repeated = JSON.parse(await runShell(create));
  expect(repeated.data.id).toBe(made.data.id);
  expect(repeated.data.secret).toBeUndefined();

  const lines = snippet("sh", "get-api-tokens").trim().split("\n");
  const answers: string[] = [];
  for (const line of lines) answers.push(await runShell(line, { KEY_ID: made.data.id }));
  const [listed, updated, rotated, deleted, csv, own] = answers as [string, string, string, string, string, string];
  expect(JSON.parse(listed).data.map(({ id }: { id: string }) => id)).toContain(made.data.id);
  expect(JSON.parse(updated).data).not.toHaveProperty("credit_limit");
  expect(JSON.parse(updated).data.models).toEqual(["family:embedded"]);
  const { data } = JSON.parse(rotated);
  expect(data.secret).not.toBe(made.data.secret);
  expect(Date.parse(data.previous_secret_expires_at)).toBe(now + 86_400_000);
  expect(JSON.parse(deleted)).toMatchObject({ statusCode: 200, data: made.data.id });
  expect(csv).toMatch(/^id,created_at,/);
  expect(JSON.parse(own).key.id).toBe(gateway.keyId);
});

test("the line for operators recharges five units, once", async () => {
  const line = snippet("sh", "OperatorService");
  await runShell(line);
  const { account } = JSON.parse(await runShell(line));
  expect(account).toMatchObject({ name: "acme", balance: "5000000", recharged: "5000000" });
});

async function runShell(code: string, more: NodeJS.ProcessEnv = {}, cwd = root): Promise<string> {
  const { stdout } = await run("sh", ["-c", code], { env: { ...env, ...more }, cwd });
  return stdout;
}

async function runTypeScript(code: string): Promise<string> {
  const { stdout } = await run("node", ["--input-type=module-typescript", "-e", code], { env, cwd: root });
  return stdout;
}
